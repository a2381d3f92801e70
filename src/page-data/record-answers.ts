import type { Instant } from '../core/time/instant.ts';
import { assetColumns, assetDetail } from './asset-detail.ts';
import { DEFAULT_PARAMETERS, TREND_DAYS } from './default-parameters.ts';
import { failingNow } from './failing-now.ts';
import { mirrorTrust } from './mirror-trust.ts';
import { lineageNode, neighboursOf } from './neighbours.ts';
import type { FailingNow, RecordedAnswer } from './page-data.ts';
import type { PageReads, PageScope } from './page-scope.ts';
import { TEST_GROUPINGS } from './test-groups.ts';
import { trends } from './trends.ts';
import { untestedTables } from './untested-tables.ts';

export type RecordedPage = ReturnType<typeof recordAnswers>;

/** Only the worst failures: a report with more would be too large to mail. */
const MAX_FAILING = 1000;
/** The page never shows more neighbours than this. */
const MAX_NEIGHBOURS = 100;

/**
 * The answers that the page requests without filters. Assets and lineage are included for failing assets.
 * `environments` are ids, null for all that the service lists; `until` is a time on the last day of the trends, by the
 * source's clock.
 */
export function recordAnswers(reads: PageReads, environments: ReadonlySet<string> | null, until: Instant) {
  const trust = mirrorTrust(reads, { environments, deniedScopes: [], seesSomeAssets: false });
  const marked = trust.environments.map((each) => ({ ...each, has_views: each.has_views || environments !== null }));
  const shown = marked.filter(({ has_views: hasViews }) => hasViews);
  const times = shown.map((each) => each.complete_at);
  const [oldest = null] = times.includes(null) ? [] : times.sort();
  const recorded = shown.map(({ env_id: env }) => recordEnvironment(reads, env, until));
  return {
    now: trust.now,
    /** Of the environment that is furthest behind; null if one was never mirrored to the end. */
    complete_at: oldest,
    environments: shown.map(({ name }) => name),
    failing_count: recorded.reduce((count, each) => count + each.failing_count, 0),
    answers: [
      { name: 'mirror', env: null, parameters: {}, data: { ...trust, environments: marked } },
      ...recorded.flatMap(({ answers }) => answers),
    ],
  };
}

function recordEnvironment(reads: PageReads, env: string, until: Instant) {
  const scope: PageScope = { reads, env, limit: null, seesTests: true };
  const failing = failingParts(scope);
  const answers: Omit<RecordedAnswer, 'env'>[] = [
    ...failing.map((data, i) => ({
      name: 'failing',
      parameters: i === 0 ? {} : { offset: String(i * DEFAULT_PARAMETERS.limit) },
      data,
    })),
    ...TREND_DAYS.flatMap((days) =>
      [null, ...TEST_GROUPINGS].map((by) => ({
        name: 'trends',
        parameters: { days: String(days), ...(by === null ? {} : { by }) },
        data: trends(scope, { by, days }, until),
      })),
    ),
    ...[false, true].map((all) => ({
      name: 'untested',
      parameters: all ? { all: 'true' } : {},
      data: untestedTables(scope, { limit: DEFAULT_PARAMETERS.limit, offset: 0, all }),
    })),
    ...failingAssets(failing).flatMap((id) => recordAsset(scope, id)),
  ];
  return { failing_count: failing[0]?.total ?? 0, answers: answers.map((answer) => ({ ...answer, env })) };
}

/** The failing sub-tests, in the pages that the page requests. */
function failingParts(scope: PageScope): FailingNow[] {
  const { rows, ...counts } = failingNow(scope, { limit: MAX_FAILING, offset: 0 });
  const parts = Math.max(1, Math.ceil(rows.length / DEFAULT_PARAMETERS.limit));
  return Array.from({ length: parts }, (_, i) => ({
    ...counts,
    rows: rows.slice(i * DEFAULT_PARAMETERS.limit, (i + 1) * DEFAULT_PARAMETERS.limit),
  }));
}

const failingAssets = (failing: readonly FailingNow[]): string[] => [
  ...new Set(failing.flatMap(({ rows }) => rows.flatMap(({ asset }) => (asset === null ? [] : [asset.id])))),
];

/** An asset, its columns, and its lineage one level in each direction. */
function recordAsset(scope: PageScope, id: string): Omit<RecordedAnswer, 'env'>[] {
  const of = 'assets';
  const recorded = [
    { name: 'asset', parameters: { id }, data: assetDetail(scope, { id }) },
    { name: 'columns', parameters: { asset_id: id }, data: assetColumns(scope, { asset_id: id, offset: 0 }) },
    { name: 'node', parameters: { id }, data: lineageNode(scope, { id, of }) },
    ...(['upstream', 'downstream'] as const).map((direction) => ({
      name: 'neighbours',
      parameters: { id, direction },
      data: neighboursOf(scope, { id, of, direction, limit: MAX_NEIGHBOURS, offset: 0 }),
    })),
  ];
  return recorded.filter(({ data }) => data !== null);
}
