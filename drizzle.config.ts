import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'sqlite',
  schema: [
    './schema/assets.ts',
    './schema/data-tests.ts',
    './schema/health.ts',
    './schema/sync.ts',
    './schema/views.ts',
    './schema/views-data-tests.ts',
  ],
  out: './schema/migrations',
});
