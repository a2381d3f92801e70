import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { takeLock } from '../../state/lock.ts';
import { SyncError } from '../core/errors.ts';
import {
  checkMirror,
  type MirrorFile,
  mirrorExists,
  openForReading,
  openForWriting,
  refuseNoFolder,
} from '../destination/sqlite/open.ts';
import { masterKey } from '../server/access.ts';
import { changeSample, type SampleChanges } from '../server/sample/changes.ts';
import { makeSample } from '../server/sample/sample.ts';
import { createServer } from '../server/server.ts';
import type { RunSummary } from '../sync/summary.ts';
import type { Io, RunCommand } from './command.ts';
import { QUESTIONS } from './demo-questions.ts';
import { watchRun } from './progress-view.ts';
import { renderTable } from './rows-view.ts';
import { runOnce } from './session.ts';
import { type Stop, stopOnSignals } from './signals.ts';
import { exitCodeOfRun } from './sync.ts';
import { SYNC_DEFAULTS } from './sync-options.ts';
import { syncSettings } from './sync-settings.ts';
import { tellFailure, wrapped } from './wrapped.ts';

const SEED = 7;

const makeToken = (): string => randomBytes(16).toString('hex');

/** Known to this process alone; the server listens on loopback for as long as the demo runs. */
const TOKEN = makeToken();

export const demo: RunCommand = async (args, io) => {
  const db = args['db'] as string;
  refuseNoFolder(db);
  const folder = mkdtempSync(join(tmpdir(), 'obsync-demo-'));
  const source = openForWriting(join(folder, 'source.db'));
  const stop = stopOnSignals();
  const server = await createServer({ mirror: source, keys: () => [masterKey('demo', TOKEN)] });
  try {
    io.out(`Making a sample source: two environments of a shop's warehouse ...\n`);
    makeSample(source, { seed: SEED, nowMs: Date.now() });
    makeRoom(db, source);
    const baseUrl = await listen(server);
    const runs = { io, stop, baseUrl, db, logLevel: args['log-level'] as string };
    return (await syncTwice(runs, source)) ?? answer(db, io);
  } finally {
    stop.dispose();
    await server.close();
    source.connection.close();
    rmSync(folder, { recursive: true, force: true });
  }
};

const width = (): number => process.stdout.columns || 120;

interface Runs {
  readonly io: Io;
  readonly stop: Stop;
  readonly baseUrl: string;
  readonly db: string;
  readonly logLevel: string;
}

/** @returns an exit code when a run went wrong, else null */
async function syncTwice(runs: Runs, source: MirrorFile): Promise<number | null> {
  const { io, stop } = runs;
  io.out(`It answers at ${runs.baseUrl}.\nSyncing it into ${runs.db} for the first time ...\n`);
  const first = await syncOnce(runs);
  if (first.status !== 'done') return failed(first, stop);
  const changes = renderChanges(changeSample(source, { seed: SEED, nowMs: Date.now() }));
  io.out(wrapped(`${renderRun(first)}\n\nNow the source changes: ${changes}.\n`, width()));
  io.out('Syncing again: only what changed travels ...\n');
  const second = await syncOnce(runs);
  if (second.status !== 'done') return failed(second, stop);
  io.out(wrapped(`${renderRun(second)}\n${renderComparison(first, second)}\n`, width()));
  return null;
}

/** Says what went wrong, as a sync does. @returns the exit code */
function failed(summary: RunSummary, stop: Stop): number {
  const streams = summary.streams.flatMap(({ environment, stream, error }) =>
    error === null ? [] : [`${environment}, ${stream}: ${error}`],
  );
  for (const error of [...streams, ...(summary.error === null ? [] : [summary.error])]) tellFailure(error);
  return exitCodeOfRun(summary, stop.received());
}

async function syncOnce({ io, stop, baseUrl, db, logLevel }: Runs): Promise<RunSummary> {
  const settings = syncSettings(
    { ...SYNC_DEFAULTS, 'base-url': baseUrl, db, _: [], $0: 'obsync' },
    { OBSYNC_TOKEN: TOKEN },
  );
  const view = await watchRun(io, logLevel);
  try {
    return await runOnce(settings, {
      signal: stop.signal,
      onProgress: view.onProgress,
      onSourceEvent: view.onSourceEvent,
    });
  } finally {
    view.end();
  }
}

/** The demo replaces the mirror of an earlier demo, and no other file. @throws SyncError `usage`, or `locked` while one runs */
function makeRoom(db: string, source: MirrorFile): void {
  if (!mirrorExists(db)) return;
  // What is no mirror gets no lock beside it.
  checkMirror(db);
  const lock = takeLock(db);
  try {
    refuseOther(db, source);
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${db}${suffix}`, { force: true });
  } finally {
    lock.release();
  }
}

/** A service of one's own may be reached by the loopback as well (a tunnel), but has other environments. */
function refuseOther(db: string, source: MirrorFile): void {
  const ids = ({ connection }: MirrorFile): unknown[] =>
    connection.prepare('select id from environments').pluck().all();
  const mirror = openForReading(db);
  try {
    const baseUrl = String(mirror.connection.prepare('select base_url from mirror').pluck().get());
    const sample = ids(source);
    if (baseUrl.startsWith('http://127.0.0.1:') && ids(mirror).every((id) => sample.includes(id))) return;
    throw new SyncError('usage', `${db} mirrors ${baseUrl} and is no demo: name another file with --db`);
  } finally {
    mirror.connection.close();
  }
}

async function listen(server: FastifyInstance): Promise<string> {
  await server.listen({ host: '127.0.0.1', port: 0 });
  return `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
}

function answer(db: string, io: Io): number {
  const mirror = openForReading(db);
  for (const { words, sql } of QUESTIONS) {
    const statement = mirror.connection.prepare(sql).raw();
    const columns = statement.columns().map((column) => column.name);
    io.out(`\n${words}\n\n${indent(sql)}\n\n${renderTable(columns, statement.all() as unknown[][], width())}\n`);
  }
  mirror.connection.close();
  io.out(
    `\nAsk more:  npx obsync query --db ${db} "select * from live_tables limit 5"\nSee what is mirrored:  npx obsync status --db ${db}\nServe it as the API:\n  export OBSYNC_SERVE_TOKEN=${makeToken()}\n  npx obsync serve --db ${db}\n`,
  );
  return 0;
}

function renderRun({ rows_written, rows_deleted, requests, started_at, ended_at }: RunSummary): string {
  const seconds = ((Date.parse(ended_at) - Date.parse(started_at)) / 1000).toFixed(1);
  return `  ${rows_written} rows written, ${rows_deleted} deleted, ${requests} requests, ${seconds} s`;
}

function renderChanges(changes: SampleChanges): string {
  const words = Object.entries(changes).map(
    ([name, count]) => `${count} ${name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`,
  );
  return words.join(', ');
}

function renderComparison(first: RunSummary, second: RunSummary): string {
  const read = (summary: RunSummary, mode: string): number =>
    summary.streams.filter((stream) => stream.mode === mode).length;
  return `  The first run scanned ${read(first, 'scan')} streams, the second ${read(second, 'scan')}; it read ${read(second, 'feed')} feeds and ${read(second, 'snapshot')} snapshots instead.`;
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}
