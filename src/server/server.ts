import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import fastify, {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { parseInstant } from '../core/time/instant.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { bearerToken, identify, type TokenHash } from './access.ts';
import { addAnswerHeaders, COMMON_HEADERS, dropLengthOf304, setDateHeader } from './answer-headers.ts';
import { type AnswerOptions, answersHere, type EndpointAnswers, openAnswering } from './answers.ts';
import { CONNECTION_LIMITS } from './connection-slots.ts';
import { drainOnClose, limitConnections } from './connections.ts';
import type { DimensionWeights } from './dimension-weights.ts';
import { invalidToken, methodNotAllowed, missingToken, notFound, undecodable, validationError } from './errors.ts';
import { addHealth, type NoteError } from './health.ts';
import { openMetrics } from './metrics.ts';
import { type MirrorReads, makeCursorKey, openMirrorReads } from './mirror-reads.ts';
import { addOpenApi } from './openapi.ts';
import { addPageFiles } from './page-files.ts';
import { openRateLimit, type RateLimit, type RequestQuota } from './rate-limit.ts';
import type { ThreadOptions } from './read-thread.ts';
import { answersInThreads } from './read-threads.ts';
import { openRequestLog, type RequestLog } from './request-log.ts';
import { addRoutes } from './routes.ts';
import { ERROR_SCHEMA } from './schemas.ts';
import { rejectMalformed, sendError } from './send-error.ts';

export interface ServerOptions {
  /** Opened for reading. The caller closes it. */
  readonly mirror: MirrorFile;
  /** The accepted tokens. Called for every request, so they can be replaced at run time. */
  readonly keys: () => readonly TokenHash[];
  /** The rate limit of each token; null for no limit. */
  readonly rateLimit?: RateLimit | null;
  /** The weight of each dimension in a total; 1 by default. */
  readonly weights?: DimensionWeights;
  /** Reader threads, which keep requests from blocking each other. Without any, requests are read in this thread. */
  readonly threads?: number;
  /** The machine's clock, used only for ages. Bounds and `Date` use the mirror's clock. */
  readonly nowMs?: () => number;
  /** How long ago the mirror was last seen to equal the one that it is a replica of. */
  readonly lagSeconds?: (nowMs: number) => number;
  /** Logs every request, and every failure answered with 500. */
  readonly log?: FastifyBaseLogger;
}

/** The maximum size of the request line and headers: enough for a URL of 256 KB with a thousand filter values. */
export const MAX_HEADER_BYTES = 272 * 1024;

/** The read API of a mirror. The caller starts listening. */
export async function createServer(options: ServerOptions): Promise<FastifyInstance> {
  const { mirror, keys, rateLimit = null, nowMs = Date.now, weights = new Map(), threads = 0 } = options;
  const cursorKey = makeCursorKey();
  const store = openMirrorReads(mirror, cursorKey);
  const answers = openAnswers(threads, { weights, store, path: mirror.path, cursorKey });
  // Fastify takes the handlers of what no hook sees before the things that they need exist.
  const server = createFastify(options.log, {
    frameworkErrors(_error, request, reply) {
      reply.raw.once('finish', () => logRequest(request, reply));
      rejectUndecodable(request, reply, authenticateRequest);
    },
    clientErrorHandler: (error, socket) =>
      rejectMalformed(error, socket, { unfinished: connections.unfinished, refused }),
  });
  const connections = limitConnections(server);
  addAnswerHeaders(server);
  dropLengthOf304(server);
  const quota = await openRateLimit(server, rateLimit);
  const authenticateRequest = authenticate(keys, store, quota, connections.authenticated);
  const logRequest = logRequests(server);
  // Only for files of `/ui/`; the hook below rejects all other unknown addresses earlier.
  server.setNotFoundHandler((request) => {
    throw unknownAddressError(request);
  });
  server.addSchema(ERROR_SCHEMA);
  // Node would reject such a request without the envelope, so it is handled like any other.
  server.server.on('checkExpectation', (request, answer) => server.server.emit('request', request, answer));
  drainOnClose(server, connections.open);
  server.addHook('onClose', () => answers.close());
  await addOpenApi(server);
  const { addMetrics, refused } = await openMetrics(server, { store, answers, nowMs });
  server.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done();
    continueWhen(authenticateRequest(request, reply), (refusal) => done(refusal ?? unknownAddressError(request)));
  });
  handleErrors(server, addHealth(server, { reads: store, nowMs, lagSeconds: options.lagSeconds }));
  await addPageFiles(server);
  await server.register(async (api) => {
    api.addHook('onRequest', (request, reply, done) => continueWhen(authenticateRequest(request, reply), done));
    addRoutes(api, { answers, quota, store });
    addMetrics(api);
  });
  return server;
}

type UnhookedHandlers = Pick<FastifyHttpOptions<Server>, 'frameworkErrors' | 'clientErrorHandler'>;

function createFastify(log: FastifyBaseLogger | undefined, handlers: UnhookedHandlers): FastifyInstance {
  const server = fastify({ ...FASTIFY_OPTIONS, ...(log === undefined ? {} : { loggerInstance: log }), ...handlers });
  server.decorateRequest('reader', null);
  server.decorateRequest('mirrorState', null);
  return server;
}

function openAnswers(threads: number, { store, ...options }: ThreadOptions & AnswerOptions): EndpointAnswers {
  const here = { store, weights: options.weights };
  if (threads === 0) return answersHere(here);
  return { ...answersInThreads(threads, options), answerAtOnce: openAnswering(here).answerLightly };
}

const FASTIFY_OPTIONS: FastifyHttpOptions<Server> = {
  logController: new LogController({ disableRequestLogging: true }),
  // Node would reject a request without `Host` itself, without the envelope.
  http: {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: 10_000,
    // By default, Node checks only every 30 seconds.
    connectionsCheckingInterval: 1000,
    requireHostHeader: false,
  },
  requestTimeout: 30_000,
  connectionTimeout: CONNECTION_LIMITS.timeoutMs,
  routerOptions: { maxParamLength: MAX_HEADER_BYTES },
  forceCloseConnections: 'idle',
  return503OnClosing: false,
  // A busy machine starts slowly, and no plugin here waits for anything external.
  pluginTimeout: 0,
  ajv: {
    customOptions: { coerceTypes: 'array', removeAdditional: false },
    onCreate: (ajv) => void ajv.addFormat('date-time', (text: string) => parseInstant(text) !== null),
  },
  schemaErrorFormatter: validationError,
  // Answers are sent as text, so only errors pass here. Compiling serializers for every status of every route would add
  // 0.3 s to each start.
  schemaController: { compilersFactory: { buildSerializer: () => () => JSON.stringify } },
};

/** Calls `done` after the promise, or at once without one, because a promise costs time in every request. */
function continueWhen(admission: Promise<void> | undefined, done: (refusal?: Error) => void): void {
  if (admission === undefined) done();
  else admission.then(() => done(), done);
}

/** Runs before every answer. It returns a promise only if there is a quota. @throws HttpError 401 or 429 */
type AuthenticationHook = (request: FastifyRequest, reply: FastifyReply) => Promise<void> | undefined;

/** Sets the time and quota headers, and rejects unknown tokens. */
function authenticate(
  keys: ServerOptions['keys'],
  store: MirrorReads,
  quota: RequestQuota,
  admitted: (socket: Socket) => void,
): AuthenticationHook {
  const refuseUnknown = ({ reader, headers }: FastifyRequest): void => {
    if (reader !== null) return;
    throw bearerToken(headers.authorization) === undefined ? missingToken() : invalidToken();
  };
  return (request, reply) => {
    const state = store.state();
    request.mirrorState = state;
    setDateHeader(reply, state);
    request.reader = identify(keys(), request.headers.authorization);
    if (request.reader !== null) admitted(request.raw.socket);
    const counted = quota.count(request, reply);
    if (counted !== undefined) return counted.then(() => refuseUnknown(request));
    refuseUnknown(request);
    return undefined;
  };
}

/** Fastify runs no hooks for an address that it cannot decode. */
function rejectUndecodable(request: FastifyRequest, reply: FastifyReply, authenticateRequest: AuthenticationHook) {
  reply.headers(COMMON_HEADERS);
  const answer = (refusal: unknown): unknown => sendError(refusal, request, reply);
  const admitted = async (): Promise<void> => authenticateRequest(request, reply);
  admitted().then(() => answer(undecodable()), answer);
}

function handleErrors(server: FastifyInstance, noteError: NoteError): void {
  server.setErrorHandler((error, request, reply) => {
    noteError(error, request.log);
    return sendError(error, request, reply);
  });
}

/** How often counts of unlogged requests are logged. */
const COUNTS_EVERY_MS = 60_000;

/** @returns a function that logs a request that no hook sees */
function logRequests(server: FastifyInstance): RequestLog['note'] {
  const { note, writeCounts } = openRequestLog(server.log);
  server.addHook('onResponse', (request, reply, done) => {
    note(request, reply);
    done();
  });
  const counting = setInterval(writeCounts, COUNTS_EVERY_MS).unref();
  server.addHook('onClose', () => {
    clearInterval(counting);
    writeCounts();
  });
  return note;
}

/** An unknown address is rejected before its body is read: with 404, or with 405 if the method is not GET. */
const unknownAddressError = ({ method }: FastifyRequest): Error =>
  ['GET', 'HEAD'].includes(method) ? notFound('This address') : methodNotAllowed();
