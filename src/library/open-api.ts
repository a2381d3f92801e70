import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import { SyncError } from '../core/errors.ts';
import { TOKEN_PATTERN } from '../core/read-api.ts';
import { type MirrorFile, openForReading } from '../destination/sqlite/open.ts';
import { type DimensionWeights, parseDimensionWeights, refuseUnknownDimensions } from '../server/dimension-weights.ts';
import { parseRateLimit, type RateLimit } from '../server/rate-limit.ts';
import { createServer } from '../server/server.ts';
import { DEFAULTS } from './defaults.ts';
import { readOption } from './option-error.ts';
import type { MirrorOptions } from './options.ts';
import { type AuthOptions, admitsNobody, openTokenStore, type TokenStore } from './token-store.ts';

/** A heavy request keeps the others waiting in the other one alone, and in no case who asks for `/healthz`. */
const READ_THREADS = 2;

/** A random token of this length cannot be found by trying. */
const LEAST_TOKEN_CHARACTERS = 20;

/** What the read API over a mirror needs to know. */
export interface ApiOptions extends MirrorOptions {
  /** The token that sees all; by default, the variable `OBSYNC_SERVE_TOKEN`. */
  readonly token?: string | undefined;
  /** A JSON file of the tokens that are let in and what each may see. */
  readonly tokens?: string | undefined;
  /** Requests of each token in a window, such as `120/1m`, or `off`; `120/1m` by default. */
  readonly rateLimit?: string | undefined;
  /** How much each dimension counts in a total, such as `completeness=2,freshness=0.5`; 1 each by default. */
  readonly dimensionWeights?: string | undefined;
  /** Told of every request, and of what is wrong; nobody by default. */
  readonly logger?: FastifyBaseLogger | undefined;
}

/** The read API over a mirror, which does not listen yet. Closing the server closes the mirror. */
export interface OpenApi {
  readonly path: string;
  readonly server: FastifyInstance;
  reloadTokens(): void;
  /** What does not stop it, but is hardly what was meant. */
  warnings(): string[];
}

/** @throws SyncError `usage` */
export async function openApi(options: ApiOptions): Promise<OpenApi> {
  const settings = apiSettings(options);
  const mirror = openForReading(settings.db);
  try {
    const keyring = openTokenStore(settings, { mirror, log: options.logger ?? SILENT });
    readOption('dimensionWeights', () => refuseUnknownDimensions(settings.weights, mirror.db));
    keyring.load();
    const server = await createServer({ ...serverOptions(settings, mirror, keyring), ...logOf(options) });
    server.addHook('onClose', () => void mirror.connection.close());
    return {
      path: mirror.path,
      server,
      reloadTokens: keyring.reload,
      warnings: () => warningsOf(settings, mirror),
    };
  } catch (error) {
    mirror.connection.close();
    throw error;
  }
}

const SILENT: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'> = { info() {}, warn() {}, error() {} };

function logOf({ logger }: ApiOptions): { readonly log?: FastifyBaseLogger } {
  return logger === undefined ? {} : { log: logger };
}

function serverOptions({ rateLimit, weights }: ApiSettings, mirror: MirrorFile, tokenStore: TokenStore) {
  return { mirror, keys: tokenStore.keys, threads: READ_THREADS, rateLimit, weights };
}

function warningsOf({ token, weights }: ApiSettings, { connection }: MirrorFile): string[] {
  const warnings: string[] = [];
  if (token !== null && token.length < LEAST_TOKEN_CHARACTERS)
    warnings.push('OBSYNC_SERVE_TOKEN is short and can be guessed: use one made by `openssl rand -hex 32`');
  if (weights.size === 0 && connection.prepare(OTHER_DIMENSION).get() !== undefined)
    warnings.push(
      'the total of aggregated scores weighs all dimensions alike: name the weights with --dimension-weights',
    );
  return warnings;
}

/** Whether there are scores of more than one dimension. */
const OTHER_DIMENSION = `select 1 from asset_health_score_dimensions
  where dimension <> (select dimension from asset_health_score_dimensions limit 1) limit 1`;

interface ApiSettings extends AuthOptions {
  readonly db: string;
  readonly rateLimit: RateLimit | null;
  readonly weights: DimensionWeights;
}

/** @throws SyncError `usage` */
function apiSettings(options: ApiOptions): ApiSettings {
  const token = (options.token ?? process.env['OBSYNC_SERVE_TOKEN'])?.trim() || null;
  if (token !== null && !TOKEN_PATTERN.test(token))
    throw new SyncError('usage', 'OBSYNC_SERVE_TOKEN holds characters that no header can carry: choose another token');
  const { db = DEFAULTS.db, tokens: tokensFile = null, dimensionWeights: weights, rateLimit } = options;
  if (token === null && tokensFile === null)
    throw admitsNobody('set OBSYNC_SERVE_TOKEN, or name a file of tokens with --tokens');
  return {
    db,
    token,
    tokensFile,
    rateLimit: readOption('rateLimit', () => parseRateLimit(rateLimit ?? DEFAULTS.rateLimit)),
    weights: weights === undefined ? new Map() : readOption('dimensionWeights', () => parseDimensionWeights(weights)),
  };
}
