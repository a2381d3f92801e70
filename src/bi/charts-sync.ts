import { type ChartSection, metric } from './chart.ts';

/** Can this mirror be trusted? */
export const FRESHNESS_CHARTS: ChartSection = {
  title: 'Freshness of the mirror',
  charts: [
    {
      id: 'mirror-age',
      title: 'Hours since the last sync',
      question: 'How old is the mirror? Shows the environment with the oldest sync.',
      kind: 'value',
      columns: [{ name: 'hours_since_sync', type: 'real', unit: 'hours' }],
      sql: (dialect) => `select ${dialect.hoursSince('min(m.mirrored_at)')} as hours_since_sync
from mirror_environments m join environments e on e.id = m.env_id
where e.missing_since is null`,
    },
    {
      id: 'stale-assets',
      title: 'Stale assets',
      question: 'How many assets have not been updated for 30 days?',
      kind: 'value',
      columns: [{ name: 'stale_assets', type: 'integer' }],
      sql: () => `select ${metric('freshness')} as stale_assets
from stale_assets`,
    },
    {
      id: 'rejected-rows',
      title: 'Rejected rows',
      question: 'How many objects of the service could not be mirrored?',
      kind: 'value',
      columns: [{ name: 'rejected_rows', type: 'integer' }],
      sql: () => `select count(*) as rejected_rows
from rejected_rows`,
    },
    {
      id: 'environments',
      title: 'Environments',
      question: 'When was each environment mirrored, and when did the service itself sync it?',
      kind: 'table',
      columns: [
        { name: 'env_name', type: 'text' },
        { name: 'mirrored_at', type: 'timestamp' },
        { name: 'last_synced_at', type: 'timestamp' },
        { name: 'last_sync_status', type: 'text' },
        { name: 'missing_since', type: 'timestamp' },
      ],
      sql: () => `select e.name as env_name, m.mirrored_at, e.last_synced_at, e.last_sync_status, e.missing_since
from environments e left join mirror_environments m on m.env_id = e.id
order by m.mirrored_at, e.name`,
    },
    {
      id: 'streams',
      title: 'Last result of each stream',
      question: 'Which part of the mirror is not up to date, and why?',
      kind: 'table',
      columns: [
        { name: 'env_name', type: 'text' },
        { name: 'stream', type: 'text' },
        { name: 'status', type: 'text' },
        { name: 'mode', type: 'text' },
        { name: 'reason', type: 'text' },
        { name: 'ended_at', type: 'timestamp' },
        { name: 'rows_rejected', type: 'integer' },
        { name: 'error', type: 'text' },
      ],
      sql: () => `select e.name as env_name, s.stream, s.status, s.mode, s.reason, s.ended_at, s.rows_rejected, s.error
from sync_stream_runs s join environments e on e.id = s.env_id
where s.run_id = (
  select max(l.run_id) from sync_stream_runs l where l.env_id = s.env_id and l.stream = s.stream)
order by case when s.status = 'done' then 1 else 0 end, e.name, s.stream`,
    },
    {
      id: 'runs',
      title: 'The last 50 runs',
      question: 'How did the last syncs end, and what did they write?',
      kind: 'table',
      columns: [
        { name: 'started_at', type: 'timestamp' },
        { name: 'ended_at', type: 'timestamp' },
        { name: 'command', type: 'text' },
        { name: 'status', type: 'text' },
        { name: 'requests', type: 'integer' },
        { name: 'rows_written', type: 'integer' },
        { name: 'rows_deleted', type: 'integer' },
        { name: 'rows_rejected', type: 'integer' },
        { name: 'error', type: 'text' },
      ],
      sql: () => `select started_at, ended_at, command, status, requests, rows_written, rows_deleted, rows_rejected, error
from sync_runs
order by id desc limit 50`,
    },
  ],
};
