import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { compiledThreads } from './test/support/compile.ts';

/** Slow tests, such as chaos, killed processes, large property runs, whole demos. `npm run test:long` runs them. */
const LONG = '**/*.long.test.ts';

/** Tests that read a mirror with other programs, which need a package registry. `npm run test:consumers` runs them. */
const CONSUMERS = '**/*.consumers.test.ts';

/** Tests of the container image, which need buildah. `npm run test:packaging` builds the image and runs them. */
const PACKAGING = '**/*.packaging.test.ts';

/** Tests that replace the HTTP of their process, or change the process itself: each file has a worker of its own. */
const ISOLATED = [...['source', 'crash', 'fuzz'].map((folder) => `${folder}/**/*.test.ts`), 'cli/signals.test.ts'];

const shared = { extends: true } as const;

export default defineConfig({
  plugins: [compiledThreads],
  test: {
    dir: 'test',
    globalSetup: ['test/support/compile.ts', 'test/support/postgres/shared-server.ts'],
    setupFiles: 'test/support/state-home.ts',
    // Only a test that hangs is ended: a busy machine may be many times slower than an idle one.
    testTimeout: 120_000,
    expect: { poll: { timeout: 120_000 } },
    hookTimeout: 120_000,
    // One more than cores: many tests wait for a process, a browser or a time limit.
    maxWorkers: availableParallelism() + 1,
    // Workers that start and end all the time compile WebAssembly at once, to strip types. With protection keys, V8 can
    // lose a page of its code then and end the process by SIGTRAP.
    execArgv: ['--no-memory-protection-keys'],
    projects: [
      {
        ...shared,
        test: {
          name: 'shared',
          include: ['**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...ISOLATED, LONG, CONSUMERS, PACKAGING],
          isolate: false,
        },
      },
      { ...shared, test: { name: 'isolated', include: ISOLATED, exclude: [...configDefaults.exclude, LONG] } },
      { ...shared, test: { name: 'long', include: [LONG], testTimeout: 600_000, hookTimeout: 600_000 } },
      { ...shared, test: { name: 'packaging', include: [PACKAGING] } },
      {
        ...shared,
        test: {
          name: 'consumers',
          include: [CONSUMERS],
          globalSetup: 'test/consumers/print-comparisons.ts',
          testTimeout: 600_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
});
