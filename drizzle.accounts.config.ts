import { defineConfig } from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './schema/accounts.ts',
  out: './schema/migrations-accounts',
});
