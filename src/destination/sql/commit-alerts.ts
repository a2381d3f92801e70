import type { AlertMoment } from '../../../state/alerts/read-conditions.ts';
import type { AlertTrigger } from '../../../state/alerts/update-alerts.ts';
import type { AlertKind, AlertRule } from '../../core/alerts/alert.ts';
import type { Commit } from '../../core/ports/destination.ts';
import type { StreamName } from '../../core/stream.ts';
import { type CommitScope, rows, type SqlStatements } from './statements.ts';

/** The types of columns before a commit, by id. */
type ColumnTypes = ReadonlyMap<string, unknown>;

/** The types of the columns that a commit changes, before it changes them. */
export function* readColumnTypes(
  scope: CommitScope,
  commit: Commit,
  alertRules: readonly AlertRule[],
): SqlStatements<ColumnTypes> {
  const isUsed = alertRules.some(({ kinds }) => kinds.includes('column_type'));
  const changes = commit.kind === 'page' && scope.stream.name === 'columns' && isUsed ? (commit.changes ?? []) : [];
  const ids = changes.filter(({ kind }) => kind === 'updated').map(({ row }) => row['id']);
  if (ids.length === 0) return new Map();
  const sql = `select c.id, c.data_type from columns c
    where c.env_id = @env and c.id in (select value from ${scope.dialect.texts('@ids')})`;
  const found = yield* rows(scope, sql, { ids: JSON.stringify(ids) });
  return new Map(found.map((row) => [String(row['id']), row['data_type']]));
}

/** What the alerts of a commit may be about. */
export function alertTriggerOf(
  { stream, mirroredAt: at }: CommitScope,
  commit: Commit,
  { types, isCleared }: { readonly types: ColumnTypes; readonly isCleared: boolean },
): AlertTrigger {
  const moments = momentsOf(commit, { types, at });
  const kinds = [...kindsOf(stream.name, commit, isCleared), ...moments.map(({ kind }) => kind)];
  return { kinds: [...new Set(kinds)], moments };
}

/** What is read in full at the end of each round. */
const AT_ROUND_END: Readonly<Partial<Record<StreamName, readonly AlertKind[]>>> = {
  latest_test_executions: ['test'],
  asset_health_scores: ['score'],
  columns: ['column_dropped', 'column_type'],
  tests: ['history_gap'],
};

function kindsOf(stream: StreamName, commit: Commit, isCleared: boolean): readonly AlertKind[] {
  if (commit.kind === 'round-end') return ['held', 'rejected', 'unavailable', ...(AT_ROUND_END[stream] ?? [])];
  // A 404 discards the round (R15).
  const lost = commit.checkpoint.unavailable ? (['unavailable'] as const) : [];
  if (commit.kind !== 'page') return lost;
  const { rejected = [], notShown } = commit;
  return [
    ...(rejected.length > 0 || isCleared || notShown !== undefined ? (['rejected', 'held'] as const) : []),
    ...lost,
  ];
}

function momentsOf(commit: Commit, { types, at }: { readonly types: ColumnTypes; readonly at: string }): AlertMoment[] {
  if (commit.kind !== 'page') return [];
  const retyped = (commit.changes ?? []).flatMap(({ row }): AlertMoment[] => {
    const [id, now] = [String(row['id']), row['data_type']];
    if (!types.has(id) || types.get(id) === now) return [];
    return [{ kind: 'column_type', id, evidence: at, detail: `Type: ${types.get(id)} before, now ${now}` }];
  });
  const { testId, gaps } = commit.historyRead ?? { testId: '', gaps: [] };
  const missed = gaps.map(({ from, to }): AlertMoment => {
    const detail = `Never read: ${from} to ${to}. The service no longer returns it`;
    return { kind: 'history_gap', id: testId, evidence: from, detail };
  });
  return [...retyped, ...missed];
}
