/** Brings a mirror up to date: `OBSYNC_TOKEN=… node sync.ts https://api.example.com mirror.db` */
import { SyncError, sync } from 'obsync';

const [, , baseUrl = '', db] = process.argv;

try {
  const run = await sync({ baseUrl, db });
  console.log(`${run.status}: ${run.rows_written} rows written, ${run.rows_deleted} deleted, ${run.requests} requests`);
  if (run.error !== null) console.error(run.error);
  process.exitCode = run.status === 'done' ? 0 : 1;
} catch (error) {
  if (!(error instanceof SyncError)) throw error;
  console.error(`${error.message} (${error.recovery})`);
  process.exitCode = 2;
}
