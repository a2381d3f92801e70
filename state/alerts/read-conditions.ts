import { FAILING } from '../../schema/data-tests.ts';
import type { AlertCondition, AlertFacts, AlertKind, AlertRule } from '../../src/core/alerts/alert.ts';
import { isJsonObject } from '../../src/core/json.ts';
import type { Row } from '../../src/core/stream.ts';
import { addDays, EPOCH, type Instant } from '../../src/core/time/instant.ts';
import type { StateStatements } from '../state-statements.ts';

export interface AlertScope {
  readonly envId: string;
  readonly run: number;
  readonly at: Instant;
}

/** How many days an alert about a moment lasts. */
const MOMENT_DAYS = 1;

const ASSET = `a.id as asset_id, a.name as asset_name, a.owners as asset_owners, a.tags as asset_tags, a.path as asset_path`;
const JOIN_ASSET = (from: string): string =>
  `assets a on a.env_id = ${from}.env_id and a.id = ${from}.asset_id and a.deleted_at is null`;

/** A PASS ends every alert of its sub-test, so only failures are read, and what is neither for open alerts. */
const TESTS = `select l.sub_test_unique_id, l.id as execution_id, l.test_id, l.status, l.start_time, l.result_reason,
    t.name, t.severity, t.disabled, t.owners, t.tags, t.path, ${ASSET}
  from latest_test_executions l
  join tests t on t.env_id = l.env_id and t.id = l.test_id and t.deleted_at is null
  left join ${JOIN_ASSET('t')}
  where l.env_id = @env and `;

const FAILED = `${TESTS} l.status in ${FAILING} order by l.sub_test_unique_id`;

const KEYS_AT_ONCE = 50;

const OTHERS = `${TESTS} l.status <> 'PASS' and l.status not in ${FAILING}
  and l.sub_test_unique_id in (${Array.from({ length: KEYS_AT_ONCE }, (_, n) => `@key${n}`).join(', ')})`;

function* readTests(env: string, openKeys: readonly string[]): StateStatements<AlertCondition[]> {
  const found = (yield { sql: FAILED, values: { env } }).rows.flatMap(testCondition);
  for (let from = 0; from < openKeys.length; from += KEYS_AT_ONCE) {
    const keys = Array.from({ length: KEYS_AT_ONCE }, (_, n) => [`key${n}`, openKeys[from + n] ?? '']);
    const { rows } = yield { sql: OTHERS, values: { env, ...Object.fromEntries(keys) } };
    found.push(...rows.flatMap(testCondition));
  }
  return found;
}

/** Only scores that a rule may be about. The score a day before is not older than two days. */
const SCORES = `select * from (select s.dimension, s.score, s.bucket_at, ${ASSET}, (
    select h.score from asset_health_score_history h
    where h.env_id = @env and h.asset_id = s.asset_id and h.dimension = s.dimension
      and h.bucket_at <= @dayBefore and h.bucket_at >= @twoDaysBefore
    order by h.bucket_at desc limit 1) as earlier
  from (
    select env_id, asset_id, 'total' as dimension, score, bucket_at from asset_health_scores where env_id = @env
    union all select env_id, asset_id, dimension, score, bucket_at from asset_health_score_dimensions
    where env_id = @env and @hasDimensions = 1) s
  join ${JOIN_ASSET('s')} and a.env_id = @env) x
  where x.score < @below or (@hasBy = 1 and x.earlier > x.score) order by x.asset_id, x.dimension`;

function* readScores(env: string, rules: readonly AlertRule[]): StateStatements<AlertCondition[]> {
  const newest = 'select max(bucket_at) as at from asset_health_scores where env_id = @env';
  const at = String((yield { sql: newest, values: { env } }).rows[0]?.['at'] ?? EPOCH);
  const ours = rules.filter(({ kinds }) => kinds.includes('score'));
  const below = Math.max(-1, ...ours.map((rule) => rule.below ?? -1));
  const hasBy = Number(ours.some(({ by }) => by !== null));
  const hasDimensions = Number(ours.some(({ dimensions }) => dimensions.some((each) => each !== 'total')));
  const values = { env, below, hasBy, hasDimensions, dayBefore: addDays(at, -1), twoDaysBefore: addDays(at, -2) };
  return (yield { sql: SCORES, values }).rows.map(scoreCondition);
}

const DROPPED = `select c.id, c.name, c.deleted_at, ${ASSET} from columns c join ${JOIN_ASSET('c')}
  where c.env_id = @env and c.deleted_at is not null and c.mirrored_at >= @since
  order by c.id`;

/** A commit reads all streams, although it shows only its own: the others tell which run did last. */
const STREAMS = `select c.stream, c.watermark, c.unavailable, c.finished_cycle,
    (select count(*) from held_removals h where h.env_id = @env and h.stream = c.stream) as held,
    (select count(*) from rejected_rows r where r.env_id = @env and r.stream = c.stream) as rejected,
    (select max(r.run_id) from rejected_rows r where r.env_id = @env and r.stream = c.stream) as rejected_in
  from sync_checkpoints c where c.env_id = @env order by c.stream`;

export interface ConditionQuery {
  readonly rules: readonly AlertRule[];
  readonly kinds: readonly AlertKind[];
  /** The conditions of open alerts. */
  readonly openKeys: readonly string[];
}

/** The conditions of these kinds that the mirror has now; of those that the rules exclude, some may be left out. */
export function* readConditions(
  scope: AlertScope,
  { rules, kinds, openKeys }: ConditionQuery,
): StateStatements<AlertCondition[]> {
  const found: AlertCondition[] = [];
  const values = { env: scope.envId };
  const has = (...some: AlertKind[]): boolean => some.some((kind) => kinds.includes(kind));
  if (has('test')) found.push(...(yield* readTests(scope.envId, openKeys)));
  if (has('score')) found.push(...(yield* readScores(scope.envId, rules)));
  if (has('column_dropped')) {
    const since = addDays(scope.at, -MOMENT_DAYS);
    for (const row of (yield { sql: DROPPED, values: { ...values, since } }).rows) found.push(droppedCondition(row));
  }
  if (has('held', 'rejected', 'unavailable'))
    for (const row of (yield { sql: STREAMS, values }).rows) found.push(...streamConditions(row, scope));
  return found;
}

/** Also null if the rows of this kind lack the column. */
const textIn = (row: Row, name: string): string | null => (row[name] == null ? null : String(row[name]));

function assetFacts(row: Row): Pick<AlertFacts, 'assetId' | 'assetName' | 'owners' | 'tags' | 'paths'> {
  const owners = labelsIn(row['owners']);
  const paths = [textIn(row, 'path') ?? '', textIn(row, 'asset_path') ?? ''];
  return {
    ...{ assetId: textIn(row, 'asset_id'), assetName: textIn(row, 'asset_name') },
    owners: owners.length > 0 ? owners : labelsIn(row['asset_owners']),
    tags: [...labelsIn(row['tags']), ...labelsIn(row['asset_tags'])],
    paths: paths.filter((path) => path !== ''),
  };
}

function testCondition(row: Row): AlertCondition[] {
  if (row['disabled'] === 1) return [];
  const facts = {
    ...{ name: textIn(row, 'name') ?? '', status: textIn(row, 'status'), severity: textIn(row, 'severity') },
    ...{ testId: textIn(row, 'test_id'), detail: textIn(row, 'result_reason'), since: textIn(row, 'start_time') },
    ...assetFacts(row),
  };
  return [{ kind: 'test', key: String(row['sub_test_unique_id']), evidence: String(row['execution_id']), facts }];
}

function scoreCondition(row: Row): AlertCondition {
  const earlier = row['earlier'] == null ? null : Number(row['earlier']);
  const dimension = row['dimension'] === 'total' ? null : String(row['dimension']);
  const name = textIn(row, 'asset_name') ?? '';
  const facts = { ...assetFacts(row), name, dimension, value: Number(row['score']), earlier };
  const key = [String(row['asset_id']), ...(dimension === null ? [] : [dimension])].join(' ');
  return { kind: 'score', key, evidence: String(row['bucket_at']), facts };
}

function droppedCondition(row: Row): AlertCondition {
  const facts = { ...assetFacts(row), name: textIn(row, 'name') ?? '', since: textIn(row, 'deleted_at') };
  return { kind: 'column_dropped', key: String(row['id']), evidence: String(row['deleted_at']), facts };
}

function streamConditions(row: Row, { run }: AlertScope): AlertCondition[] {
  const [name, since] = [String(row['stream']), textIn(row, 'watermark')];
  return (['held', 'rejected', 'unavailable'] as const).flatMap((kind): AlertCondition[] => {
    const value = Number(row[kind]);
    // A stream that was never live is not news.
    if (value === 0 || (kind === 'unavailable' && since === null)) return [];
    const facts = { name, value, since: kind === 'unavailable' ? since : null };
    const shownIn = Math.max(Number(row['finished_cycle']), kind === 'rejected' ? Number(row['rejected_in']) : 0);
    const shown = { evidence: String(run), shownIn, ...(kind === 'unavailable' ? {} : { rows: value }) };
    return [{ kind, key: name, ...shown, facts, isEarly: since === null }];
  });
}

const CHANGED = `select c.id, c.name, ${ASSET} from columns c join ${JOIN_ASSET('c')}
  where c.env_id = @env and c.id = @id`;

const GAPPED = `select t.id as test_id, t.name, t.severity, t.owners, t.tags, t.path, ${ASSET}
  from tests t left join ${JOIN_ASSET('t')} where t.env_id = @env and t.id = @id`;

/** Something that happened at one moment, to a column or a test with this id. */
export interface AlertMoment {
  readonly kind: 'column_type' | 'history_gap';
  readonly id: string;
  readonly evidence: string;
  readonly detail: string;
}

export function* readMoments(
  { envId, at }: AlertScope,
  moments: readonly AlertMoment[],
): StateStatements<AlertCondition[]> {
  const found: AlertCondition[] = [];
  for (const { kind, id, evidence, detail } of moments) {
    const [row] = (yield { sql: kind === 'column_type' ? CHANGED : GAPPED, values: { env: envId, id } }).rows;
    if (row === undefined) continue;
    const about = kind === 'column_type' ? {} : { testId: id, severity: textIn(row, 'severity') };
    const facts = { ...assetFacts(row), ...about, name: textIn(row, 'name') ?? id, detail, since: at };
    found.push({ kind, key: id, evidence, facts, until: addDays(at, MOMENT_DAYS) });
  }
  return found;
}

/** The start of the run of failures that a sub-test is in, as far as the mirror has seen it. */
export function* readFailingSince(envId: string, { key, facts }: AlertCondition): StateStatements<Instant | null> {
  const own = 'env_id = @env and test_id = @test and sub_test_unique_id = @sub';
  const sql = `select min(start_time) as since from test_executions where ${own} and status in ${FAILING}
    and start_time > coalesce((select max(start_time) from test_executions where ${own} and status = 'PASS'), @never)`;
  const values = { env: envId, test: facts.testId ?? '', sub: key, never: EPOCH };
  const [row] = (yield { sql, values }).rows;
  return (row?.['since'] ?? facts.since ?? null) as Instant | null;
}

/** The labels of a JSON array of texts or objects, as the views show them. */
function labelsIn(json: unknown): string[] {
  const parsed: unknown = typeof json === 'string' ? JSON.parse(json) : [];
  if (!Array.isArray(parsed)) return [];
  return parsed.map(labelOf).filter((label) => label !== '');
}

function labelOf(element: unknown): string {
  if (!isJsonObject(element)) return element === null ? '' : String(element);
  const { name, email, id } = element;
  return String([name, email, id].find((each) => String(each ?? '') !== '') ?? '');
}
