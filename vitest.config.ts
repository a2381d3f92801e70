import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    dir: 'test',
    globalSetup: 'test/support/compile.ts',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: '100%',
  },
});
