import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    dir: 'test',
    globalSetup: ['test/support/compile.ts', 'test/support/postgres/shared-server.ts'],
    setupFiles: 'test/support/state-home.ts',
    // Only what hangs comes to an end here: a busy machine may be twenty times slower than an idle one.
    testTimeout: 1_000_000,
    expect: { poll: { timeout: 1_000_000 } },
    hookTimeout: 1_000_000,
    maxWorkers: '100%',
    // Threads that begin and end all the time compile WebAssembly at once, to take off types. With protection keys V8 can lose a page of
    // its code then, and ends the process by SIGTRAP.
    execArgv: ['--no-memory-protection-keys'],
  },
});
