import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'sqlite',
  schema: [
    './schema/assets.ts',
    './schema/tests.ts',
    './schema/health.ts',
    './schema/sync.ts',
    './schema/views.ts',
    './schema/views-tests.ts',
  ],
  out: './schema/migrations',
});
