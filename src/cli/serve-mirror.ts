import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { type AddressInfo, isIPv6 } from 'node:net';
import { promisify } from 'node:util';
import type { FastifyInstance } from 'fastify';
import type { Arguments } from 'yargs';
import { SyncError } from '../core/errors.ts';
import { type MirrorFile, openForReading } from '../destination/sqlite/open.ts';
import { type DimensionWeights, parseDimensionWeights, refuseUnknownDimensions } from '../server/dimension-weights.ts';
import { parseRateLimit, type RateLimit } from '../server/rate-limit.ts';
import { createServer } from '../server/server.ts';
import { isLoopback } from '../source/base-url.ts';
import type { Io } from './command.ts';
import { exitCodeOfSignal } from './exit-code.ts';
import { type Grants, letsNobodyIn, openKeyring } from './keyring.ts';
import { readOption } from './option-error.ts';
import { stopOnSignals } from './signals.ts';
import { inRange } from './sync-settings.ts';
import { HEADER_TEXT } from './token.ts';

/** What is under way when a signal comes may take so long: R27 gives 5 seconds in all, also to what is being read. */
const PATIENCE_MS = 3000;

/** A heavy request keeps the others waiting in the other one alone, and in no case who asks for `/healthz`. */
const READ_THREADS = 2;

/** A random token of this length cannot be found by trying. */
const LEAST_TOKEN_CHARACTERS = 20;

/** Serves the mirror until a signal comes. @returns the exit code. @throws SyncError `usage` */
export async function serveMirror(args: Arguments, io: Io): Promise<number> {
  const settings = serveSettings(args, io.env);
  const log = await io.serverLog(args['log-level'] as string);
  const mirror = openForReading(settings.db);
  const keyring = openKeyring(settings, { mirror, log });
  const stop = stopOnSignals('a long read');
  try {
    readOption('dimension-weights', () => refuseUnknownDimensions(settings.weights, mirror.db));
    keyring.load();
    const server = await createServer({ ...settings, mirror, keys: keyring.keys, threads: READ_THREADS, log });
    io.out(`${await listen(server, settings)}\n`);
    log.info(`serving ${settings.db}, process ${process.pid}`);
    for (const warning of warningsOf(settings, mirror)) log.warn(warning);
    if (!stop.signal.aborted) await once(stop.signal, 'abort');
    log.info('stopping: answers under way are finished');
    await close(server);
    return exitCodeOfSignal(stop.received() ?? 'SIGTERM');
  } finally {
    keyring.dispose();
    stop.dispose();
    mirror.connection.close();
    await promisify(log.flush.bind(log))();
  }
}

function warningsOf({ token, host, weights }: ServeSettings, { connection }: MirrorFile): string[] {
  const warnings: string[] = [];
  if (token !== null && token.length < LEAST_TOKEN_CHARACTERS)
    warnings.push('OBSYNC_SERVE_TOKEN is short and can be guessed: use one made by `openssl rand -hex 32`');
  if (!isLoopback(hostInUrl(host))) warnings.push('tokens travel unencrypted: put a proxy that speaks TLS in front');
  if (weights.size === 0 && connection.prepare(OTHER_DIMENSION).get() !== undefined)
    warnings.push(
      'the total of aggregated scores weighs all dimensions alike: name the weights with --dimension-weights',
    );
  return warnings;
}

/** Whether there are scores of more than one dimension. */
const OTHER_DIMENSION = `select 1 from asset_health_score_dimensions
  where dimension <> (select dimension from asset_health_score_dimensions limit 1) limit 1`;

interface ServeSettings extends Grants {
  readonly db: string;
  readonly host: string;
  readonly port: number;
  readonly rateLimit: RateLimit | null;
  readonly weights: DimensionWeights;
}

/** @throws SyncError `usage` */
function serveSettings(args: Arguments, env: Io['env']): ServeSettings {
  const token = env['OBSYNC_SERVE_TOKEN']?.trim() || null;
  if (token !== null && !HEADER_TEXT.test(token))
    throw new SyncError('usage', 'OBSYNC_SERVE_TOKEN holds characters that no header can carry: choose another token');
  const tokensFile = (args['tokens'] as string | undefined) ?? null;
  if (token === null && tokensFile === null)
    throw letsNobodyIn('set OBSYNC_SERVE_TOKEN, or name a file of tokens with --tokens');
  const weights = args['dimension-weights'];
  return {
    db: args['db'] as string,
    host: args['host'] as string,
    port: inRange('port', args['port'], { min: 0, max: 65_535 }),
    token,
    tokensFile,
    rateLimit: readOption('rate-limit', () => parseRateLimit(args['rate-limit'] as string)),
    weights:
      typeof weights === 'string' ? readOption('dimension-weights', () => parseDimensionWeights(weights)) : new Map(),
  };
}

/** @returns the base URL. @throws SyncError `usage` where the address cannot be listened on */
async function listen(server: FastifyInstance, { host, port }: ServeSettings): Promise<string> {
  try {
    // Fastify listens on `localhost`, and on no other name, by two servers, and could stop but one of them in time.
    const { address } = await lookup(host);
    await server.listen({ host: address, port });
  } catch (cause) {
    // Its threads would keep the process from ending.
    await server.close();
    const code = (cause as NodeJS.ErrnoException).code ?? 'unknown';
    const why = code === 'EADDRINUSE' ? 'it is in use already' : code;
    throw new SyncError('usage', `cannot listen on ${host}:${port} (${why}): name others with --host and --port`, {
      cause,
    });
  }
  const bound = (server.server.address() as AddressInfo).port;
  return `http://${hostInUrl(host)}:${bound}`;
}

const hostInUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

/** Lets what is under way finish, but not for ever. */
async function close(server: FastifyInstance): Promise<void> {
  const impatience = setTimeout(() => server.server.closeAllConnections(), PATIENCE_MS);
  await server.close();
  clearTimeout(impatience);
}
