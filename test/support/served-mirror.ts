import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Database from 'better-sqlite3';
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { SyncError } from '../../src/core/errors.ts';
import type { Source } from '../../src/core/ports/source.ts';
import { httpDateMs } from '../../src/core/quota/retry-delay.ts';
import { addDays, type Instant, instantOfMs } from '../../src/core/time/instant.ts';
import { NO_TIMES, withReading } from '../../src/core/time/server-times.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import { type MirrorFile, openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import { fileState } from '../../src/destination/sqlite/open-state.ts';
import { rootToken } from '../../src/server/access.ts';
import { createServer } from '../../src/server/server.ts';
import { classify } from '../../src/source/classify.ts';
import { type BodyDecoder, decodeEnvelope, decodeEnvironments, decodeMatchedCount } from '../../src/source/envelope.ts';
import { endpointPath, pageTarget } from '../../src/source/target.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { BI_FIELDS, TABLE_FIELDS } from '../../src/streams/fields.ts';
import { runSync } from '../../src/sync/run.ts';
import type { RunSummary } from '../../src/sync/summary.ts';
import type { Row, TestMirror } from '../model/test-mirror.ts';
import { FEED_TABLES } from './catalogue.ts';
import { DECISION_OPTIONS } from './decision-options.ts';

export const TOKEN = 'secret';
const ADMITTED = { authorization: `Bearer ${TOKEN}` };

type Inject = (request: InjectOptions) => Promise<LightMyRequestResponse>;

/** A mirror behind the real server, read through `inject`. */
export interface ServedMirror {
  readonly server: FastifyInstance;
  readonly inject: Inject;
  /** A response and its `Date`. @throws Error for any status but 200 */
  get(path: string): Promise<{ body: unknown; date: Instant }>;
  close(): Promise<void>;
}

/** `through` may wrap the server's file. */
export async function serveMirrored(
  mirrored: Pick<TestMirror, 'replica'>,
  through: (file: MirrorFile) => MirrorFile = (file) => file,
): Promise<ServedMirror> {
  const file = openForReading(await mirrored.replica());
  const server = await createServer({ mirror: through(file), keys: () => [rootToken('all', TOKEN)] });
  const inject: Inject = async (request) => {
    await mirrored.replica();
    return server.inject(request);
  };
  return {
    server,
    inject,
    async get(path) {
      const answer = await inject({ method: 'GET', url: `/public/beta/${path}`, headers: ADMITTED });
      if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${answer.payload}`);
      return { body: answer.json(), date: dateOf(answer.headers) };
    },
    async close() {
      await server.close();
      file.connection.close();
    },
  };
}

function dateOf(headers: Readonly<Record<string, unknown>>): Instant {
  const ms = httpDateMs(String(headers['date']));
  if (ms === null) throw new Error('an answer without a Date');
  return instantOfMs(ms);
}

/** The file, with a callback after the first statement of every transaction. */
export function interruptTransactions({ connection, ...file }: MirrorFile, happens: () => void): MirrorFile {
  let isFirst = true;
  const prepare = (sql: string) => {
    const statement = connection.prepare(sql);
    const all = (...values: unknown[]): unknown[] => {
      const rows = statement.all(...values);
      if (isFirst) happens();
      isFirst = !connection.inTransaction;
      return rows;
    };
    return { all, run: (...values: unknown[]) => statement.run(...values) };
  };
  const transaction = (body: (...given: unknown[]) => unknown) =>
    connection.transaction((...given: unknown[]) => {
      isFirst = true;
      return body(...given);
    });
  return {
    ...file,
    connection: {
      ...{ prepare, transaction, exec: (sql: string) => connection.exec(sql) },
      pragma: connection.pragma.bind(connection),
    } as unknown as Database.Database,
  };
}

interface Following {
  readonly overlapSeconds?: number;
  readonly pageSize?: number;
  readonly full?: boolean;
  readonly maxRequests?: number | undefined;
  readonly allowShrink?: boolean;
  /** Awaited before every request. */
  readonly turn?: () => Promise<void>;
}

/** A mirror of a mirror in its own file. Its machine's clock does not move and is years slow. */
export interface Follower {
  /** Runs one sync with `--history` from a server or another source. */
  sync(from: ServedMirror | Source, following?: Following): Promise<RunSummary>;
  rows(sql: string, ...values: unknown[]): readonly Row[];
  close(): void;
}

export function createFollower(): Follower {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-follower-'));
  const file = openForWriting(join(folder, 'copy.db'));
  file.connection.pragma('synchronous = OFF');
  const clock = (): Instant => '2001-01-01T00:00:00.000000Z';
  return {
    async sync(from, { overlapSeconds = 0, pageSize = 3, full = false, allowShrink = false, ...asking } = {}) {
      const source = 'server' in from ? sourceOver(from.inject, asking) : from;
      const destination = (envId: string, run: number) => createSqliteDestination(file, { envId, run, clock });
      const state = fileState(file, clock);
      const ports = {
        source,
        mirrorExists: true,
        openMirror: async () => ({
          state,
          destination,
          flush: async () => file.transactions.flush(),
          hold: async () => {},
          close: async () => {},
        }),
        clock,
        signal: new AbortController().signal,
        onProgress: () => {},
      };
      return runSync(ports, {
        ...DECISION_OPTIONS,
        ...{ overlapSeconds, pageSize, full, allowShrink, concurrency: 1 },
        baseUrl: 'http://mirror.test',
        catalogue: CATALOGUE,
        streams: CATALOGUE,
        environments: [],
      });
    },
    rows: (sql, ...values) => file.connection.prepare(sql).all(...values) as Row[],
    close() {
      file.connection.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** The source of one run, without a network. */
function sourceOver(inject: Inject, { maxRequests, turn }: Pick<Following, 'maxRequests' | 'turn'>): Source {
  let requests = 0;
  let times = NO_TIMES;
  async function ask<T>(target: string, bodyDecoder: BodyDecoder<T>): Promise<T> {
    if (requests >= (maxRequests ?? Number.POSITIVE_INFINITY)) throw new SyncError('budget', 'no requests are left');
    await turn?.();
    requests += 1;
    const { statusCode: status, headers, rawPayload } = await inject({ url: target, headers: ADMITTED });
    const outcome = { answer: { status, headers: {}, body: rawPayload }, fault: null, heardMs: 0 };
    const verdict = classify(
      outcome,
      { path: target, host: 'served.test', proxy: null, secret: TOKEN, advice: null },
      bodyDecoder,
    );
    if (verdict.kind === 'done') {
      const at = dateOf(headers);
      if (at !== null) times = withReading(times, { at, elapsedSeconds: 0 });
      return verdict.value;
    }
    throw verdict.kind === 'failed' ? verdict.error : new Error(`${target}: ${status} ${rawPayload}`);
  }
  return {
    environments: async () => [...(await ask(endpointPath(['environments']), decodeEnvironments)).items],
    async page(request, onRequest) {
      onRequest?.();
      return ask(pageTarget(request), decodeEnvelope);
    },
    async matchedCount(request, onRequest) {
      onRequest?.();
      return ask(pageTarget({ ...request, cursor: null }), decodeMatchedCount);
    },
    times: () => times,
    requests: () => requests,
    close: async () => {},
  };
}

/** Rows as text, by table: easy to compare and to read in a diff. */
type Tables = Record<string, string[]>;

const lives = (table: string, id: string) =>
  `exists (select 1 from ${table} o where o.env_id = t.env_id and o.id = t.${id} and o.deleted_at is null)`;
const LIVE_TABLE = `exists (select 1 from assets o
  where o.env_id = t.env_id and o.id = t.asset_id and o.deleted_at is null and o.kind = 'table')`;
const gone = (table: string, id: string) =>
  `exists (select 1 from ${table} o where o.env_id = t.env_id and o.id = t.${id} and o.deleted_at is not null)`;

const isTimed = (table: string): boolean => FEED_TABLES.includes(table);

/** The part of each table that is served. An interrupted round may leave more rows for a while. */
const SERVED: Readonly<Record<string, string>> = {
  assets: 't.deleted_at is null',
  columns: 't.deleted_at is null',
  tests: 't.deleted_at is null',
  asset_lineage: `${lives('assets', 'upstream_asset_id')} and ${lives('assets', 'downstream_asset_id')}`,
  column_lineage: lives('columns', 'downstream_column_id'),
  latest_test_executions: `not ${gone('tests', 'test_id')}`,
  asset_health_scores: `t.bucket_at >= @week and ${LIVE_TABLE}`,
  asset_health_score_dimensions: `t.bucket_at >= @week and ${LIVE_TABLE}
    and exists (select 1 from asset_health_scores s
      where s.env_id = t.env_id and s.asset_id = t.asset_id and s.bucket_at >= @week)`,
};
const SCORES: readonly string[] = ['asset_health_scores', 'asset_health_score_dimensions'];

/**
 * The rows of a mirror and its copy: the copy's `synced_at` must equal the mirror's `mirrored_at`. Scores are read once
 * an hour (R22), so they are compared only `withScores`.
 */
export function mirrorAndCopy(
  mirrored: Pick<TestMirror, 'rows'>,
  copy: Pick<Follower, 'rows'>,
  { withScores }: { withScores: boolean },
): { mirror: Tables; copy: Tables } {
  const now = String(mirrored.rows('select max(mirrored_at) mirrored_at from mirror_environments')[0]?.['mirrored_at']);
  const listed = environmentsOf(mirrored);
  const unfilled = unfilledAssets(mirrored);
  const sides: { mirror: Tables; copy: Tables } = {
    mirror: { environments: texts(listed) },
    copy: { environments: texts(environmentsOf(copy)) },
  };
  const ids = JSON.stringify(listed.map((row) => row['id']));
  for (const [table, served] of Object.entries(SERVED)) {
    if (SCORES.includes(table) && !withScores) continue;
    const every = `select t.* from ${table} t where t.env_id in (select value from json_each('${ids.replaceAll("'", "''")}'))`;
    const week = `'${addDays(now, -7)}'`;
    const ofMirror = mirrored.rows(`${every} and ${served.replaceAll('@week', week)}`);
    const ofCopy = copy.rows(isTimed(table) ? `${every} and t.deleted_at is null` : every);
    const asServed = isTimed(table) ? ofMirror.map(withMirrorTime) : ofMirror;
    sides.mirror[table] = texts(asServed.map((row) => comparable(table, row, row['mirrored_at'] ?? null, unfilled)));
    sides.copy[table] = texts(ofCopy.map((row) => comparable(table, row, row['synced_at'] ?? null, unfilled)));
  }
  return sides;
}

function environmentsOf({ rows }: Pick<TestMirror, 'rows'>): Row[] {
  return rows('select * from environments where missing_since is null').map(({ mirrored_at: _, ...row }) => row);
}

/** A row is served with the mirror's own time, whose place a time that the mirror did not trust cannot take (R10). */
function withMirrorTime(row: Row): Row {
  const { synced_at: _, ...extra } = JSON.parse(String(row['extra'])) ?? {};
  return { ...row, extra: Object.keys(extra).length === 0 ? null : JSON.stringify(extra) };
}

const keyOf = (row: Row) => JSON.stringify([row['env_id'], row['id']]);

/** Assets whose typed fields the mirror has not read. It serves none, and the copy keeps its last ones. */
function unfilledAssets({ rows }: Pick<TestMirror, 'rows'>): Set<string> {
  const sql = `select env_id, id from assets where kind = 'table' and data_platform is null or kind = 'bi' and bi_type is null`;
  return new Set(rows(sql).map(keyOf));
}

function comparable(table: string, row: Row, servedAt: Row[string], unfilled: ReadonlySet<string>): Row {
  const { mirrored_at: _, deleted_at: __, deletion: ___, ...kept } = row;
  if (!isTimed(table)) return kept;
  const isUnfilled = table === 'assets' && unfilled.has(keyOf(row));
  const typed = isUnfilled ? [...TABLE_FIELDS, ...BI_FIELDS, 'extra'] : [];
  return { ...kept, ...Object.fromEntries(typed.map((name) => [name, null])), synced_at: servedAt ?? null };
}

/** Rows as text, sorted. */
export const texts = (rows: readonly Row[]): string[] =>
  rows.map((row) => JSON.stringify(inOrder({ ...row, ...extraOf(row) }))).sort();

const inOrder = (members: object) => Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1));

/** Sorts the members of objects, whose order does not matter. */
const extraOf = ({ extra }: Row) => (typeof extra === 'string' ? { extra: inOrder(JSON.parse(extra)) } : {});

/** Executions that the copy has and the mirror does not. */
export function inventedExecutions(mirrored: Pick<TestMirror, 'rows'>, copy: Pick<Follower, 'rows'>): string[] {
  const keys = 'select env_id, sub_test_unique_id, id from test_executions';
  const held = new Set(texts(mirrored.rows(keys)));
  return texts(copy.rows(keys)).filter((key) => !held.has(key));
}
