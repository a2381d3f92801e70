import { usageError } from '../core/errors.ts';
import { TOKEN_PATTERN } from '../core/read-api.ts';
import { type MirrorFile, openForReading } from '../destination/sqlite/open.ts';
import { type DimensionWeights, parseDimensionWeights, refuseUnknownDimensions } from '../server/dimension-weights.ts';
import { parseRateLimit } from '../server/rate-limit.ts';
import { createServer } from '../server/server.ts';
import { addressOf, givenAddress } from '../settings/addresses/mirror-address.ts';
import { readOption } from '../settings/option-error.ts';
import { OPTIONS } from '../settings/option-table.ts';
import type { OptionsNamed } from '../settings/options.ts';
import { startFollowing } from './serve-replica.ts';
import type { ServerLog, ServerLogger } from './server-logger.ts';
import { noToken, openTokenStore } from './token-store.ts';

/** While a heavy request occupies one thread, the other one serves the rest; `/healthz` waits for neither. */
const READ_THREADS = 2;

/** A random token of this length cannot be guessed. */
const LEAST_TOKEN_CHARACTERS = 20;

export interface ApiOptions
  extends OptionsNamed<'db' | 'dbFile' | 'replica' | 'tokens' | 'rateLimit' | 'dimensionWeights'> {
  /** The unrestricted token; defaults to the variable `OBSYNC_SERVE_TOKEN`. */
  readonly token?: string | undefined;
  /** Logs every request and every problem; no log by default. */
  readonly logger?: ServerLogger | undefined;
}

/** The read API over a mirror, not listening yet. Closing the server closes the mirror. @throws SyncError `usage` */
export async function prepareServer(options: ApiOptions, beforeOpening?: () => Promise<void>) {
  const settings = apiSettings(options);
  await beforeOpening?.();
  const { db, rateLimit, weights } = settings;
  const { logger: log } = options;
  // A mirror in PostgreSQL is served from a replica.
  const isFollowed = addressOf(db).kind !== 'file' || settings.replica !== undefined;
  const replica = isFollowed ? await startFollowing({ db, replica: settings.replica }, log ?? SILENT) : null;
  let opened: MirrorFile | null = null;
  const close = async (): Promise<void> => {
    opened?.connection.close();
    await replica?.close();
  };
  try {
    const mirror = openForReading(replica?.path ?? db);
    opened = mirror;
    const tokens = openTokenStore(settings, { mirror, log: log ?? SILENT });
    readOption('dimensionWeights', () => refuseUnknownDimensions(weights, mirror.db));
    tokens.load();
    const lag = replica === null ? {} : { lagSeconds: replica.lagSeconds };
    const parts = { mirror, keys: tokens.keys, threads: READ_THREADS, rateLimit, weights, ...lag };
    const server = await createServer(log === undefined ? parts : { ...parts, log });
    server.addHook('onClose', close);
    return {
      /** What is served, for the log. */
      served: replica === null ? mirror.path : `${replica.of} from its replica ${mirror.path}`,
      server,
      reloadTokens: tokens.reload,
      /** Warnings of settings that are valid but probably a mistake. */
      warnings: () => warningsOf(settings.token, weights, mirror),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const SILENT: ServerLog = { info() {}, warn() {}, error() {} };

function warningsOf(token: string | null, weights: DimensionWeights, { connection }: MirrorFile): string[] {
  const warnings: string[] = [];
  if (token !== null && token.length < LEAST_TOKEN_CHARACTERS)
    warnings.push('OBSYNC_SERVE_TOKEN is short and can be guessed: use a token made by `openssl rand -hex 32`');
  if (weights.size === 0 && connection.prepare(OTHER_DIMENSION).get() !== undefined)
    warnings.push('aggregated total scores weight all dimensions equally: set weights with --dimension-weights');
  return warnings;
}

/** Whether there are scores of more than one dimension. */
const OTHER_DIMENSION = `select 1 from asset_health_score_dimensions
  where dimension <> (select dimension from asset_health_score_dimensions limit 1) limit 1`;

/** @throws SyncError `usage` */
function apiSettings(options: ApiOptions) {
  const db = givenAddress(options);
  const token = (options.token ?? process.env['OBSYNC_SERVE_TOKEN'])?.trim() || null;
  if (token !== null && !TOKEN_PATTERN.test(token))
    throw usageError('OBSYNC_SERVE_TOKEN contains characters that an HTTP header cannot carry: choose another token');
  const { tokens: tokensFile = null, dimensionWeights: weights, rateLimit } = options;
  if (token === null && tokensFile === null)
    throw noToken('set OBSYNC_SERVE_TOKEN, or name a file of tokens with --tokens');
  return {
    db,
    replica: options.replica,
    token,
    tokensFile,
    rateLimit: readOption('rateLimit', () => parseRateLimit(rateLimit ?? OPTIONS.rateLimit.default)),
    weights: weights === undefined ? new Map() : readOption('dimensionWeights', () => parseDimensionWeights(weights)),
  };
}
