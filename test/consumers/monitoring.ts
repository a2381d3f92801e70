import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { serving } from '../cli/serving.ts';
import { start } from '../cli/setup.ts';
import { blocksUnder, readDocument } from '../docs/documents.ts';
import { CONSUMERS, freePort } from '../docs/run-blocks.ts';
import { folder } from '../export/setup.ts';
import { EMPTY_PAGE, startApiServer } from '../support/api-server.ts';
import { madeDatabase } from '../support/postgres/database.ts';
import { makeAwkwardMirror } from './awkward-mirror.ts';
import { ALERTMANAGER_PROGRAMS, DEBIAN_PROGRAMS } from './places.ts';

const [PROMETHEUS, ALERTMANAGER] = [join(DEBIAN_PROGRAMS, 'prometheus'), join(ALERTMANAGER_PROGRAMS, 'alertmanager')];

export const isMonitoringInstalled = [PROMETHEUS, ALERTMANAGER].every((path) => existsSync(path));

/** What Prometheus sends as `credentials_file`. */
const TOKEN = 'the-token-of-prometheus';

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: string;
}

/** `obsync serve` and `obsync worker`, watched by Prometheus and Alertmanager with the files of docs/serve.md. */
export interface Monitoring {
  /** The folder of these files. */
  readonly cwd: string;
  /** The shell lines of docs/serve.md, with the addresses of this test. */
  readonly lines: string;
  /** What `obsync serve` answers to Prometheus now. */
  metrics(): Promise<string>;
  /** The samples that Prometheus has now; none while it starts. */
  query(text: string): Promise<Sample[]>;
  /** The names of the alerts that Alertmanager has delivered. */
  readonly delivered: ReadonlySet<string>;
  end(): Promise<void>;
}

type WhenDone = (end: () => unknown) => void;

export async function startMonitoring(): Promise<Monitoring> {
  const ends: (() => unknown)[] = [];
  const whenDone: WhenDone = (end) => void ends.push(end);
  const cwd = folder();
  const { receiver, delivered } = await startReceiver(whenDone);
  await runObsync(['bi', 'prometheus', '--to', cwd]);
  await writeTextfile(join(cwd, 'obsync.prom'));
  const serve = await startServe(cwd, whenDone);
  const worker = await startWorker(whenDone);
  const [alertmanager, prometheus] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
  const lines = writeFiles(cwd, {
    '127.0.0.1:8484': serve,
    '127.0.0.1:9464': worker,
    '127.0.0.1:9093': alertmanager,
    '127.0.0.1:9000': receiver,
  });
  const inFolder = { cwd, whenDone };
  const alone = '--cluster.listen-address=';
  startProgram(ALERTMANAGER, ['alertmanager', alertmanager, '--storage.path=a', alone], inFolder);
  startProgram(PROMETHEUS, ['prometheus', prometheus, '--storage.tsdb.path=p'], inFolder);
  return {
    cwd,
    lines,
    delivered,
    async metrics() {
      const answer = await fetch(`http://${serve}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } });
      return answer.text();
    },
    query: (text) => samplesOf(`http://${prometheus}/api/v1/query?query=${encodeURIComponent(text)}`),
    async end() {
      for (const end of ends.reverse()) await end();
    },
  };
}

async function runObsync(args: readonly string[], env = {}): Promise<void> {
  const { code, stderr } = await start(args, { env }).ended;
  if (code !== 0) throw new Error(stderr);
}

/** Syncs an environment without rows. */
async function writeTextfile(path: string): Promise<void> {
  const api = await startApiServer({ body: [{ id: 'e1', name: 'Production "A"' }] }, { body: EMPTY_PAGE });
  await runObsync(['sync', '--base-url', api.url, '--stream', 'assets', '--textfile', path], { OBSYNC_TOKEN: TOKEN });
  await api.close();
}

/** Serves a mirror that has rows, though no sync has ended. @returns its address */
async function startServe(cwd: string, whenDone: WhenDone): Promise<string> {
  const mirror = makeAwkwardMirror();
  mirror.connection.exec('delete from sync_runs');
  mirror.connection.close();
  const tokens = join(cwd, 'tokens.json');
  const hash = createHash('sha256').update(TOKEN).digest('hex');
  writeFileSync(tokens, JSON.stringify([{ name: 'prometheus', token_sha256: hash, scopes: [] }]));
  const { url } = await serving(['--db', mirror.path, '--tokens', tokens], { env: {}, whenDone: whenDone as never });
  return new URL(url).host;
}

/** Starts a worker with an account that cannot be reached. @returns the address of its metrics */
async function startWorker(whenDone: WhenDone): Promise<string> {
  const database = await madeDatabase();
  whenDone(database.drop);
  const env = { OBSYNC_DB: database.url, LOST_TOKEN: TOKEN };
  const account = ['--base-url', 'http://127.0.0.1:1', '--token-env', 'LOST_TOKEN', '--cron', '0 0 29 2 *'];
  await runObsync(['accounts', 'add', 'lost', ...account], env);
  const worker = start(['worker', '--metrics-port', '0'], { env });
  whenDone(() => {
    worker.kill('SIGKILL');
    return worker.ended;
  });
  await worker.logged('metrics at');
  return /127\.0\.0\.1:\d+/.exec(worker.said())?.[0] ?? '';
}

/** Receives what Alertmanager delivers. */
async function startReceiver(whenDone: WhenDone) {
  const delivered = new Set<string>();
  const server = createServer(async (request, response) => {
    const { alerts } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    for (const { labels } of alerts) delivered.add(labels.alertname);
    response.end();
  }).listen(0, '127.0.0.1');
  whenDone(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  await once(server, 'listening');
  return { receiver: `127.0.0.1:${(server.address() as AddressInfo).port}`, delivered };
}

/** Writes the files that docs/serve.md shows, with these addresses and shorter intervals. @returns its shell lines */
function writeFiles(cwd: string, addresses: Readonly<Record<string, string>>): string {
  const { text } = readDocument('docs/serve.md');
  const adapted = text.replaceAll(/127\.0\.0\.1:\d+/g, (address) => addresses[address] ?? address);
  const blocks = blocksUnder({ text: adapted }, 'Prometheus and Alertmanager');
  for (const block of blocks) {
    const [, name] = /^# (\S+)\n/.exec(block.text) ?? [];
    if (name !== undefined) writeFileSync(join(cwd, name), block.text);
  }
  const config = join(cwd, 'prometheus.yml');
  writeFileSync(config, `global: { scrape_interval: 1s, evaluation_interval: 1s }\n${readFileSync(config, 'utf8')}`);
  writeFileSync(join(cwd, 'obsync-token'), TOKEN);
  return blocks.find(({ language }) => language === CONSUMERS)?.text ?? '';
}

function startProgram(
  program: string,
  [config, address, ...args]: readonly string[],
  { cwd, whenDone }: { readonly cwd: string; readonly whenDone: WhenDone },
): void {
  const all = [`--config.file=${config}.yml`, `--web.listen-address=${address}`, ...args];
  const child = spawn(program, all, { cwd, stdio: 'ignore' });
  const ended = once(child, 'close');
  whenDone(() => {
    child.kill('SIGKILL');
    return ended;
  });
}

async function samplesOf(url: string): Promise<Sample[]> {
  const answer = await fetch(url).catch(() => null);
  if (!answer?.ok) return [];
  const { data } = (await answer.json()) as {
    data: { result: { metric: Sample['labels']; value: [number, string] }[] };
  };
  return data.result.map(({ metric, value: [, value] }) => ({ labels: metric, value }));
}
