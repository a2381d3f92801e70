import type { Row } from '../../src/core/stream.ts';

/** Random numbers in [0, 1), the same for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

/** Lists of owners and tags as services may send them, and worse. */
const LISTS = [
  null,
  '[]',
  '{"name":"no list"}',
  '"text"',
  'null',
  '7',
  '["a","b","a"]',
  '["z","B","ä","a"]',
  '[{"name":"Ann","email":"ann@x.org"},{"email":"bob@x.org","id":4},{"name":"","email":null,"id":7},{}]',
  '[{"name":null,"id":[1,2]},{"name":{"first":"Ann"}},{"id":true},{"id":false},{"name":0}]',
  '[true,false,null,"",[],[1,"x"],{"other":"y"}]',
  '[1,-0,-7,1.5,1e3,0.1,1e-5,0.0001,123456789012345678,9223372036854775807,12345678901234567890,1e21,1e400,-1e400,1e-400,1e15]',
  `[${'9'.repeat(30)},-1.5e-7,1E2,-0.0,1e16,1e17]`,
  `[1e99999,-1e99999,1e-99999,${'9'.repeat(500)},0.${'0'.repeat(500)}1]`,
  '["nul \\u0000 here","\\\\u0000 is no escape","\\\\\\u0000 is one","a, b","\\"quoted\\"\\n\\t"]',
  '[{"name":"nul \\u0000"},{"email":"x","na\\u0000me":"y"},{"id":"\\ufffd"}]',
  '["\u{1f600} smile","\u00e9","e\u0301","\u{10ffff}"]',
  '[{"name":"x","name2":"y"},{"Name":"upper"},{"name ":"blank"}]',
];

/** Other text. */
const TEXTS = ['ID', 'id', 'Id', 'ÄPFEL', 'äpfel', '', ' ', "o'clock", '100 %', 'x'.repeat(300), '\u{1f600}', null];

const DAY_MS = 86_400_000;
const START_MS = Date.parse('2026-11-18T00:00:00Z');

const instant = (ms: number, micros = 0) =>
  `${new Date(ms).toISOString().slice(0, 23)}${String(micros).padStart(3, '0')}Z`;

/** Adds a row of a table. */
export type AddRow = (table: string, row: Row) => void;

/** Fills every mirrored table with every odd value that a mirror may contain. */
export function fillNastyMirror(add: AddRow, seed: number): void {
  const random = randomOf(seed);
  const upTo = (count: number) => Math.floor(random() * count);
  const pick = <Value>(values: readonly Value[]): Value => values[upTo(values.length)] as Value;
  const time = () => instant(START_MS + upTo(3 * DAY_MS), upTo(1000));
  const timeOrNone = () => (random() < 0.2 ? null : time());
  const gone = () => (random() < 0.2 ? { deleted_at: time(), deletion: 'tombstone' } : {});
  const kept = () => ({ mirrored_at: time(), extra: pick([null, '{"a":"\\u0000"}', '{}']) });
  const [assetIds, testIds] = [ids('a', 14), ids('t', 12)];
  for (const [id, name] of [
    ['e', 'Production'],
    ['f', 'ÄÖ'],
  ] as const)
    add('environments', { id, name, cron: '0 * * * *', last_synced_at: timeOrNone(), mirrored_at: time() });
  add('pruned_history', {
    ...{ env_id: 'f', history: 'test_executions', action: 'delete', complete_before: instant(START_MS + DAY_MS) },
    ...{ pruned_through: '', row_count: 1, mirrored_at: time() },
  });
  for (const env_id of ['e', 'f', 'unlisted']) {
    add('mirror_environments', {
      env_id,
      mirrored_at: instant(START_MS + 40 * DAY_MS, upTo(1000)),
      last_mark: upTo(9),
    });
    for (const [stream, watermark] of [
      ['assets', instant(START_MS + 40 * DAY_MS, upTo(1000))],
      ['columns', timeOrNone()],
      ['tests', time()],
      ['test_executions', null],
    ] as const)
      add('sync_checkpoints', { env_id, stream, watermark, unavailable: upTo(2) });
    for (const id of assetIds)
      if (random() < 0.9)
        add('assets', {
          env_id,
          id,
          name: pick(TEXTS),
          kind: pick(['table', 'table', 'bi', 'etl', 'semantic', 'new kind', null]),
          source_type: 'dbt',
          db_name: pick(['d', null]),
          schema_name: pick(['s', 'S', null]),
          table_name: pick(TEXTS),
          bi_type: pick(['dashboard', null]),
          url: pick(TEXTS),
          owners: pick(LISTS),
          tags: pick(LISTS),
          updated_at: pick([time(), instant(START_MS + upTo(20) * DAY_MS), null]),
          created_at: timeOrNone(),
          synced_at: timeOrNone(),
          ...gone(),
          ...kept(),
        });
    for (const id of ids('c', 30))
      add('columns', {
        env_id,
        id,
        asset_id: pick(assetIds),
        name: pick(TEXTS),
        data_type: 'int',
        synced_at: time(),
        ...gone(),
        ...kept(),
      });
    const edges = new Set<string>();
    for (let i = 0; i < 24; i++) edges.add(`${pick(assetIds)} ${pick(assetIds)}`);
    for (const edge of edges) {
      const [upstream_asset_id, downstream_asset_id] = edge.split(' ') as [string, string];
      add('asset_lineage', { env_id, upstream_asset_id, downstream_asset_id, ...kept() });
    }
    for (const id of testIds) {
      if (random() < 0.8)
        add('tests', {
          env_id,
          id,
          name: pick(TEXTS),
          test_type: pick(['unique', 'not_null', null]),
          severity: pick(['ERROR', 'WARN']),
          disabled: pick([0, 0, 0, 1, null]),
          asset_id: pick([...assetIds, null, 'nowhere']),
          column_name: pick(TEXTS),
          config: pick(LISTS),
          owners: pick(LISTS),
          tags: pick(LISTS),
          updated_at: timeOrNone(),
          synced_at: time(),
          ...gone(),
          ...kept(),
        });
      for (const sub_test_unique_id of [`${id}.1`, `${id}.2`]) addRuns(env_id, id, sub_test_unique_id);
    }
    for (const asset_id of assetIds) addScores(env_id, asset_id);
  }

  function addRuns(env_id: string, test_id: string, sub_test_unique_id: string): void {
    const run = (id: string) => ({
      env_id,
      test_id,
      sub_test_unique_id,
      id,
      sub_type: 'rows',
      status: pick(['PASS', 'PASS', 'FAIL', 'WARN', 'ERROR', 'SKIPPED', 'NO_DATA', 'new status']),
      // Only a few times, so runs share them.
      start_time: random() < 0.5 ? instant(START_MS + (upTo(6) * DAY_MS) / 2, pick([0, 499, 500, 501, 999])) : time(),
      duration_seconds: pick([0, 1.5, 0.1, 1e-9, 123_456.789]),
      failure_count: pick([null, 0, 3, 9_007_199_254_740_991]),
      column_name: pick(TEXTS),
      result_reason: pick(TEXTS),
      exception: pick(TEXTS),
      synced_at: timeOrNone(),
      ...kept(),
    });
    for (const id of ids('r', upTo(12))) add('test_executions', run(id));
    if (random() < 0.8) add('latest_test_executions', run('latest'));
  }

  function addScores(env_id: string, asset_id: string): void {
    for (const dimension of ['total', 'freshness', 'validity', 'new dimension']) {
      if (random() < 0.3) continue;
      const hours = new Set(Array.from({ length: 20 }, () => upTo(72)));
      for (const hour of hours) {
        const bucket = { score: random(), test_count: upTo(9), bucket_at: instant(START_MS + hour * 3_600_000) };
        add('asset_health_score_history', { env_id, asset_id, dimension, ...bucket, ...kept() });
      }
      const bucket = { score: pick([0, 1, 1 / 3, random()]), test_count: upTo(9), bucket_at: time() };
      if (dimension === 'total') add('asset_health_scores', { env_id, asset_id, ...bucket, ...kept() });
      else add('asset_health_score_dimensions', { env_id, asset_id, dimension, ...bucket, ...kept() });
    }
  }
}

const ids = (prefix: string, count: number) => Array.from({ length: count }, (_, i) => `${prefix}${i}`);
