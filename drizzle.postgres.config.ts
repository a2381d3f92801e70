import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './schema/postgres.ts',
  out: './schema/migrations-postgres',
});
