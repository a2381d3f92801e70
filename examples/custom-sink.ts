/**
 * Sends what has changed in a mirror to a destination of your own, here a file of JSON lines:
 * `node custom-sink.ts mirror.db changes.ndjson`. Run it after each sync: it then sends only the newer changes.
 *
 * `mirrored_at` is the time at which the mirror last changed a row or marked it as deleted. Within an environment it
 * never runs backwards, and a later commit has a later time, so the next time continues from the greatest one sent.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { openMirror } from 'obsync';

const [, , db = 'obsync.db', sink = 'changes.ndjson'] = process.argv;

/** Tables whose deleted rows stay, with `deleted_at`. */
const TABLES = ['assets', 'columns', 'tests'];

const positionsFile = `${sink}.positions.json`;
const positions: Record<string, string> = existsSync(positionsFile)
  ? JSON.parse(readFileSync(positionsFile, 'utf8'))
  : {};

const mirror = await openMirror({ db });
let sent = 0;
// All tables are read from one state of the mirror, even while a sync runs.
mirror.snapshot(() => {
  for (const { id } of mirror.query('select id from environments')) {
    for (const table of TABLES) {
      const key = `${id} ${table}`;
      const changed = mirror.query(`select * from ${table} where env_id = ? and mirrored_at > ? order by mirrored_at`, {
        parameters: [id ?? null, positions[key] ?? ''],
      });
      for (const row of changed) {
        appendFileSync(sink, `${JSON.stringify({ table, deleted: row['deleted_at'] !== null, row })}\n`);
        positions[key] = String(row['mirrored_at']);
        sent += 1;
      }
    }
  }
});
mirror.close();
// Written last: after a crash the same changes are sent again and none is lost.
writeFileSync(positionsFile, JSON.stringify(positions));
console.log(`${sent} changes sent`);
