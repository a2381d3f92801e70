import type { MirrorVersions } from '../../core/decide/plan-refresh.ts';
import { COPIED_TABLES, type CopiedTable, type ReplicaSource, type SourceSnapshot } from '../sql/copied-tables.ts';
import { quote } from '../sql/tables.ts';
import { type MirrorName, readRows, refuseOtherVersion } from './copy.ts';
import { beginIn, type ListConnection } from './open-connection.ts';

/** A mirror in PostgreSQL for its replicas. */
export function replicaSource(connection: ListConnection, address: MirrorName): ReplicaSource {
  return {
    async inSnapshot(work) {
      await beginIn(connection, address.schema, 'isolation level repeatable read, read only');
      try {
        await connection.query(SETTINGS);
        await refuseOtherVersion(connection, address);
        return await work(snapshotOn(connection));
      } finally {
        // It has changed nothing, and after a failed statement the server would refuse all others. A lost connection
        // fails the next snapshot.
        await connection.query('rollback').catch(() => {});
      }
    },
    close: () => connection.close(),
  };
}

/**
 * Citus takes a snapshot per connection to a node. Other servers accept its setting and ignore it. Starting workers to
 * count the rows of a table costs more than counting them.
 */
const SETTINGS = `set local citus.max_adaptive_executor_pool_size to 1;
  set local max_parallel_workers_per_gather to 0`;

function snapshotOn(connection: ListConnection): SourceSnapshot {
  return {
    versions: () => readVersions(connection),
    async nonceOf(runId) {
      const [[nonce] = []] = await connection.list('select nonce from sync_runs where id = $1', [runId]);
      return nonce === undefined ? null : String(nonce);
    },
    rows: (table, selection) => readRows(connection, table, selection),
    async count({ name }, envId) {
      const [where, values] = envId === null ? ['', []] : [' where env_id = $1', [envId]];
      const [[count] = []] = await connection.list(`select count(*) from ${quote(name)}${where}`, values);
      return Number(count);
    },
  };
}

async function readVersions(connection: ListConnection): Promise<MirrorVersions> {
  // Before any row: a row that is committed after its clock was read is read again by the next refresh.
  const clocks = await connection.list('select env_id, mirrored_at, rows_removed_at from mirror_environments');
  const [[identity] = []] = await connection.list(IDENTITY);
  const [newest] = await connection.list(NEWEST_RUN);
  const [[allEndedBefore] = []] = await connection.list('select pg_snapshot_xmin(pg_current_snapshot())::text');
  const versions = new Map<string, Map<string, string>>();
  for (const [table, envId, version] of await connection.list(VERSIONS)) {
    const ofTable = versions.get(String(table)) ?? new Map<string, string>();
    versions.set(String(table), ofTable.set(String(envId), String(version)));
  }
  return {
    identity: String(identity),
    newestRun: newest === undefined ? null : { id: Number(newest[0]), nonce: String(newest[1]) },
    clocks: new Map(clocks.map(([envId, at]) => [String(envId), String(at)])),
    removals: new Map(clocks.flatMap(([envId, , at]) => (at == null ? [] : [[String(envId), String(at)]]))),
    allEndedBefore: String(allEndedBefore),
    versions,
  };
}

/**
 * The newest run that stays in the log. A sync that is refused leaves no entry, but until then it is `running` and has
 * joined no cycle, which sets `full_every`; it writes rows only afterwards.
 */
const NEWEST_RUN = `select id, nonce from sync_runs
  where status <> 'running' or full_every is not null or command <> 'sync' order by id desc limit 1`;

/** A restored dump has tables with other numbers, and a server that took over for another has another timeline. */
const IDENTITY = `select concat_ws(' ', (select cursor_key from mirror), 'mirror'::regclass::oid,
  (select system_identifier from pg_control_system()), (select timeline_id from pg_control_checkpoint()))`;

/**
 * `xmin` is the number of the transaction that wrote a row. It grows, so no change leaves both the number of rows and
 * the sum as they were. Only running runs write rows of the log; pruning is seen in `sync_runs`.
 */
function versionsOf({ name, hasEnvironments }: CopiedTable): string {
  const version = "concat(count(*), ' ', sum(xmin::text::bigint))";
  if (name === 'sync_stream_runs')
    return `select '${name}', '', concat((select ${version} from sync_runs), ' ', ${version}) from ${name}
      where run_id in (select id from sync_runs where status = 'running')`;
  const [envId, group] = hasEnvironments ? ['env_id', ' group by env_id'] : ["''", ''];
  return `select '${name}', ${envId}, ${version} from ${quote(name)}${group}`;
}

const VERSIONS = COPIED_TABLES.filter(({ isStamped }) => !isStamped)
  .map(versionsOf)
  .join(' union all ');
