import { join } from 'node:path';
import type { Row } from '../../src/core/stream.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { fileState } from '../../src/destination/sqlite/open-state.ts';
import { BASE_URL } from '../support/conformance/workbench.ts';
import { describeDestination } from '../support/conformance.ts';
import { testFolder } from '../support/test-folder.ts';

describeDestination('an SQLite file', async (clock) => {
  const mirror = openForWriting(join(testFolder(), 'obsync.db'));
  const state = fileState(mirror, clock);
  await state.claimMirror(BASE_URL);
  return {
    state,
    destination: (envId, run, alertRules) => createSqliteDestination(mirror, { envId, run, clock, alertRules }),
    rows: async (table, envId) =>
      mirror.connection.prepare(`select * from ${table} where env_id = ?`).all(envId) as Row[],
    runs: async () => mirror.connection.prepare('select * from sync_runs order by id').all() as Row[],
    async breakTable(table) {
      mirror.connection.exec(
        ['insert', 'update', 'delete']
          .map(
            (verb) =>
              `create trigger broken_${verb} before ${verb} on ${table} begin select raise(abort, 'broken'); end;`,
          )
          .join('\n'),
      );
      return async () =>
        void mirror.connection.exec(
          'drop trigger broken_insert; drop trigger broken_update; drop trigger broken_delete',
        );
    },
    async close() {
      mirror.connection.close();
    },
  };
});
