/**
 * The columns with a closed list of values, as the dictionary documents them. All other columns may contain new values
 * that the service introduces.
 */
export const ACCEPTED_VALUES: readonly (readonly [
  tables: readonly string[],
  column: string,
  values: readonly string[],
])[] = [
  [['assets', 'columns', 'tests'], 'deletion', ['tombstone', 'absent']],
  [['live_assets', 'asset_tags', 'asset_owners', 'stale_assets'], 'kind', ['table', 'bi', 'semantic', 'etl', 'other']],
  [['test_incidents'], 'worst_status', ['ERROR', 'FAIL', 'WARN']],
  [['sync_runs'], 'status', ['running', 'done', 'problems', 'refused', 'stopped', 'interrupted']],
  [['sync_runs'], 'command', ['sync', 'verify']],
  [['sync_runs'], 'left_over', ['unread', 'failed']],
  [['sync_stream_runs'], 'mode', ['scan', 'feed', 'snapshot', 'marked', 'window', 'none']],
  [['sync_stream_runs'], 'status', ['done', 'failed', 'denied', 'unavailable', 'held', 'waiting', 'stopped']],
];

export function acceptedValuesOf(table: string, column: string): readonly string[] | null {
  const entry = ACCEPTED_VALUES.find(([tables, name]) => tables.includes(table) && name === column);
  return entry?.[2] ?? null;
}
