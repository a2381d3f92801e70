import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: 'test/support/compile.ts',
    testTimeout: 60_000,
    maxWorkers: '100%',
  },
});
