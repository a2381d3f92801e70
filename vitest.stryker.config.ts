import { defineConfig } from 'vitest/config';

/** For `npm run test:mutation`: the tests of the core, which start nothing. Stryker sets its own folder and pool. */
export default defineConfig({ test: { dir: 'test/core', setupFiles: 'test/support/state-home.ts' } });
