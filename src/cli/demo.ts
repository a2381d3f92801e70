import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { openMirror } from '../api/open-mirror.ts';
import { refuseNetworkFs } from '../api/open-store.ts';
import { serve } from '../api/serve.ts';
import { sync } from '../api/sync.ts';
import { closeAfter } from '../core/close-after.ts';
import type { SampleChanges } from '../demo/changes.ts';
import { QUESTIONS } from '../demo/questions.ts';
import { removeEarlierDemo } from '../demo/remove-earlier-demo.ts';
import { openSampleSource, type SampleSource } from '../demo/sample-source.ts';
import { givenFile } from '../settings/addresses/mirror-address.ts';
import type { RunSummary } from '../sync/summary.ts';
import { type CommandArguments, type CommandIo, stdoutWidth } from './command.ts';
import { printFailure } from './print.ts';
import { watchRun } from './progress-view.ts';
import { renderTable } from './rows-view.ts';
import { exitCodeAfter, exitCodeOfSignal, LONG_WRITE, type StopRequest, untilSignal } from './signals.ts';
import { wrapText } from './wrap-text.ts';

const makeToken = (): string => randomBytes(16).toString('hex');

/** Only this process knows the token. The server listens on loopback while the demo runs. */
const TOKEN = makeToken();

export const demoCommand = untilSignal(LONG_WRITE, async (args, io, stop) => {
  const db = givenFile({ db: args['db'] as string }, 'demo');
  refuseNetworkFs({ db, allowNetworkFs: args['allowNetworkFs'] === true });
  removeEarlierDemo(db);
  io.limitHeap();
  io.stdout.write(`Making a sample source: two environments of a shop's warehouse ...\n`);
  return closeAfter(openSampleSource(), async (source) =>
    closeAfter(await serve({ db: source.path, token: TOKEN, port: 0, rateLimit: 'off' }), async (server) => {
      const runs = { io, stop, baseUrl: server.url, db, args };
      const failure = await syncTwice(runs, source);
      if (failure !== null) return failure;
      await answer(db, io);
      if (args['keep'] === true) return serveChanges(runs, source);
      io.stdout.write(renderAdvice(db));
      return 0;
    }),
  );
});

const widthOn = (io: CommandIo): number => stdoutWidth(io) ?? 120;

interface DemoRuns {
  readonly io: CommandIo;
  readonly stop: StopRequest;
  readonly baseUrl: string;
  readonly db: string;
  readonly args: CommandArguments;
}

/** @returns an exit code if a run failed, else null */
async function syncTwice(runs: DemoRuns, source: SampleSource): Promise<number | null> {
  const { io } = runs;
  io.stdout.write(`It is served at ${runs.baseUrl}.\nSyncing it into ${runs.db} for the first time ...\n`);
  const first = await syncOnce(runs);
  if (first.status !== 'done') return failed(first, runs);
  const changes = renderChanges(source.change('hour'));
  io.stdout.write(wrapText(`${renderRun(first)}\n\nNow the source changes: ${changes}.\n`, widthOn(io)));
  io.stdout.write('Syncing again, reading only the changes ...\n');
  const second = await syncOnce(runs);
  if (second.status !== 'done') return failed(second, runs);
  io.stdout.write(wrapText(`${renderRun(second)}\n${renderComparison(first, second)}\n`, widthOn(io)));
  return null;
}

/** Prints the errors like a sync does. @returns the exit code */
async function failed(summary: RunSummary, { stop, io, args }: DemoRuns): Promise<number> {
  const streams = summary.streams.flatMap(({ environment, stream, error }) =>
    error === null ? [] : [`${environment}, ${stream}: ${error}`],
  );
  for (const error of [...streams, ...(summary.error === null ? [] : [summary.error])])
    await printFailure(error, args, io);
  return exitCodeAfter(summary, stop.received());
}

async function syncOnce({ io, stop, baseUrl, db, args }: DemoRuns): Promise<RunSummary> {
  const service = { baseUrl, token: TOKEN, shareQuota: false, allowNetworkFs: args['allowNetworkFs'] === true };
  const options = { ...service, db, history: true, signal: stop.signal };
  return closeAfter(await watchRun(io, args), ({ onProgress }) => sync({ ...options, onProgress }));
}

const CHANGE_INTERVAL_MS = 4000;

/** Serves the mirror while the source changes and each change is synced. Returns the exit code after a signal. */
async function serveChanges(runs: DemoRuns, source: SampleSource): Promise<number> {
  const { io, stop, db } = runs;
  const token = makeToken();
  return closeAfter(await serve({ db, token, port: 0, rateLimit: 'off' }), async (server) => {
    io.stdout.write(
      `\nThe source keeps changing, and a sync follows every few seconds. Look at the mirror:\n\n  ${server.url}/#token=${token}\n\nStop with Ctrl-C.\n\n`,
    );
    // A signal ends the pause.
    while (await setTimeout(CHANGE_INTERVAL_MS, true, { signal: stop.signal }).catch(() => false)) {
      source.change('moment');
      const summary = await syncOnce(runs);
      if (summary.status === 'done') io.stdout.write(`${renderRun(summary)}\n`);
      else if (!stop.signal.aborted) await failed(summary, runs);
    }
    return exitCodeOfSignal(stop.received() ?? 'SIGTERM');
  });
}

async function answer(db: string, io: CommandIo): Promise<void> {
  const mirror = await openMirror({ db });
  for (const { words, sql } of QUESTIONS) {
    const { columns, rows } = mirror.query(sql);
    const asked = wrapText(`\n${words}\n\n${sql.replaceAll(/^/gm, '  ')}\n\n`, widthOn(io));
    io.stdout.write(`${asked}${renderTable(columns, [...rows], widthOn(io))}\n`);
  }
  mirror.close();
}

function renderAdvice(db: string): string {
  return `\nRun another query:\n  npx obsync query --db ${db} "select * from live_tables limit 5"\nSee what is mirrored:\n  npx obsync status --db ${db}\nServe it as the API:\n  export OBSYNC_SERVE_TOKEN=${makeToken()}\n  npx obsync serve --db ${db}\n`;
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
