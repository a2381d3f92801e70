import type { Server } from 'node:http';
import fastify, {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { parseInstant } from '../core/instant.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { identify, type TokenHash } from './access.ts';
import { answersHere, openLightAnswering } from './answers.ts';
import { boundConnections } from './connections.ts';
import { addDescription } from './describe.ts';
import type { DimensionWeights } from './dimension-weights.ts';
import { drainOnClose } from './drain.ts';
import { badRequest, methodNotAllowed, notFound, unauthenticated } from './errors.ts';
import { goOn } from './go-on.ts';
import { addHealth } from './health.ts';
import { explainInvalid } from './invalid.ts';
import { openMetrics } from './metrics.ts';
import { type MirrorReads, makeCursorKey, openMirrorReads } from './mirror-reads.ts';
import { openRateLimit, type RateLimit, type RequestQuota } from './rate-limit.ts';
import { answersInThreads } from './read-threads.ts';
import { refuse, refuseUnreadable } from './refuse-connection.ts';
import { addRoutes, type RoutesOptions } from './routes.ts';
import { ERROR } from './schemas.ts';
import { serializers } from './serializers.ts';
import { setDateHeader } from './set-date-header.ts';

export interface ServerOptions {
  /** Opened for reading; whoever opened it closes it. */
  readonly mirror: MirrorFile;
  /** The tokens that are let in; asked for at every request, so that they can be replaced. */
  readonly keys: () => readonly TokenHash[];
  /** The greatest `limit` taken, 2000 when left out. */
  readonly pageMax?: number;
  /** For each token; null for none. */
  readonly rateLimit?: RateLimit | null;
  /** How much each dimension counts in a total; 1 when left out. */
  readonly weights?: DimensionWeights;
  /** Threads that read, so that no request keeps the others waiting; with none, which is meant, each is read at once. */
  readonly threads?: number;
  /** The machine's clock, for ages alone: bounds and `Date` go by the mirror's. */
  readonly nowMs?: () => number;
  /** Told of every request, and of every failure that is answered with 500. */
  readonly log?: FastifyBaseLogger;
}

/** The request line and all headers: room for a URL of 256 KB, in which a thousand values of a filter have room. */
export const MOST_HEADER_BYTES = 272 * 1024;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** A connection on which nothing moves is ended, at the second time that Node finds it so if an answer is not read. */
const SILENCE_TIMEOUT_MS = 60_000;

/** The read API over a mirror; the caller makes it listen. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { mirror, keys, rateLimit = null, nowMs = Date.now } = options;
  const store = openMirrorReads(mirror);
  const { answers, ...read } = openAnswers(options);
  let authenticationHook: AuthenticationHook = () => undefined;
  const server = fastify({
    ...FRAMEWORK,
    ...(options.log === undefined ? {} : { loggerInstance: options.log }),
    frameworkErrors: (_error, request, reply) => refuseUndecodable(request, reply, authenticationHook),
  });
  const connections = boundConnections(server);
  server.decorateRequest('reader', null);
  server.decorateRequest('mirrorState', null);
  const quota = await openRateLimit(server, rateLimit);
  authenticationHook = authenticate({ store, keys, quota });
  server.addHook('onResponse', logRequest);
  server.setErrorHandler(refuse);
  // For the files of `/docs`; what else leads nowhere is refused before it comes to a handler.
  server.setNotFoundHandler((request) => {
    throw addressRefusal(request);
  });
  server.addSchema(ERROR);
  // Passed over: Node would refuse such a request itself, before anybody is asked, and without the envelope.
  server.server.on('checkExpectation', (request, answer) => server.server.emit('request', request, answer));
  drainOnClose(server, connections);
  server.addHook('onClose', () => answers.close());
  await addDescription(server, quota);
  const addMetrics = await openMetrics(server, { store, answers, nowMs });
  server.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    goOn(authenticationHook(request, reply), (refusal) => done(refusal ?? addressRefusal(request)));
  });
  addHealth(server, store, nowMs);
  server.get('/', { schema: { hide: true } }, (_request, reply) => reply.redirect('/docs'));
  await server.register(async (api) => {
    api.addHook('onRequest', (request, reply, done) => goOn(authenticationHook(request, reply), done));
    addRoutes(api, { answers, quota, ...read });
    addMetrics(api);
  });
  return server;
}

function openAnswers({
  mirror,
  pageMax = 2000,
  weights = new Map(),
  threads = 0,
}: ServerOptions): Omit<RoutesOptions, 'quota'> {
  const read = { pageMax, weights };
  // One for all who read: they take each other's cursors.
  const cursorKey = makeCursorKey();
  const answers =
    threads > 0
      ? {
          ...answersInThreads(threads, { path: mirror.path, cursorKey, ...read }),
          answerAtOnce: openLightAnswering({ mirror, cursorKey, ...read }),
        }
      : answersHere({ mirror, cursorKey, ...read });
  return { answers, ...read };
}

const FRAMEWORK: FastifyHttpOptions<Server> = {
  logController: new LogController({ disableRequestLogging: true }),
  // Node would refuse a request without `Host` before anybody is asked, and without the envelope.
  http: {
    maxHeaderSize: MOST_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    // Else Node would look only every half minute.
    connectionsCheckingInterval: 1000,
    requireHostHeader: false,
  },
  requestTimeout: REQUEST_TIMEOUT_MS,
  connectionTimeout: SILENCE_TIMEOUT_MS,
  routerOptions: { maxParamLength: MOST_HEADER_BYTES },
  forceCloseConnections: 'idle',
  return503OnClosing: false,
  // A busy machine starts slowly, and nothing that is loaded here waits for anybody.
  pluginTimeout: 0,
  ajv: {
    customOptions: { coerceTypes: 'array', removeAdditional: false },
    onCreate: (ajv) => void ajv.addFormat('date-time', (text: string) => parseInstant(text) !== null),
  },
  schemaErrorFormatter: explainInvalid,
  schemaController: { compilersFactory: { buildSerializer: serializers } },
  clientErrorHandler: refuseUnreadable,
};

/** Goes before every answer, and takes time where there is a quota. @throws Refusal 401 or 429 */
type AuthenticationHook = (request: FastifyRequest, reply: FastifyReply) => Promise<void> | undefined;

/** Tells the time and the quota, and lets those in whose token is known. */
function authenticate({
  store,
  keys,
  quota,
}: {
  store: MirrorReads;
  keys: ServerOptions['keys'];
  quota: RequestQuota;
}): AuthenticationHook {
  const refuseStranger = ({ reader }: FastifyRequest): void => {
    if (reader === null) throw unauthenticated();
  };
  return (request, reply) => {
    const state = store.state();
    request.mirrorState = state;
    setDateHeader(reply, state);
    request.reader = identify(keys(), request.headers.authorization);
    const counted = quota.count(request, reply);
    if (counted !== undefined) return counted.then(() => refuseStranger(request));
    refuseStranger(request);
    return undefined;
  };
}

/** The framework's own refusals go by no hook. */
function refuseUndecodable(request: FastifyRequest, reply: FastifyReply, authenticationHook: AuthenticationHook): void {
  const answer = (refusal: unknown): unknown => refuse(refusal, request, reply);
  const undecodable = badRequest('The address cannot be decoded: percent-encode each part of it');
  reply.raw.once('finish', () => logRequest(request, reply, () => {}));
  const admitted = async (): Promise<void> => authenticationHook(request, reply);
  admitted().then(() => answer(undecodable), answer);
}

/** What is no address of the API is refused before its body is read: by 404, or 405 where it is no GET. */
const addressRefusal = ({ method }: FastifyRequest): Error =>
  ['GET', 'HEAD'].includes(method) ? notFound('This address') : methodNotAllowed();

/** Characters of a path: a stranger may ask for one of 256 KB. */
const MOST_LOGGED = 200;

/** One line a request: the path without its query, where a misplaced token might stand. */
function logRequest(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  const { method, url, reader } = request;
  const took = { status: reply.statusCode, ms: Math.round(reply.elapsedTime * 10) / 10 };
  request.log.info(
    { method, path: url.split('?', 1)[0]?.slice(0, MOST_LOGGED), reader: reader?.name ?? null, ...took },
    'request',
  );
  done();
}
