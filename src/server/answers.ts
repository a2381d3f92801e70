import { gzipSync } from 'node:zlib';
import fastJson, { type Schema as FastSchema } from 'fast-json-stringify';
import type { Instant } from '../core/time/instant.ts';
import { MEASUREMENTS } from '../metrics/measurements.ts';
import { type ApiEndpoint, ENV, type RequestContext, readEndpoints, sharedSchemas } from './endpoints.ts';
import { requireEnvironment } from './environments.ts';
import { type HttpErrorParts, httpErrorParts } from './errors.ts';
import { type MirrorReads, type MirrorSnapshot, type MirrorState, readSnapshotRows } from './mirror-reads.ts';
import { pageEndpoints } from './page-endpoints.ts';
import { lenient } from './schemas.ts';
import { cacheVisibleAssets } from './visibility.ts';

/** The operation that reads the measurements of the mirror. It has no endpoint. */
export const MEASURE = 'measure';

/** A request with a valid token: the operation, its parameters, and the reader. */
export interface AdmittedRequest extends Omit<RequestContext, 'weights'> {
  readonly operationId: string;
  /** Whether the client accepts a compressed answer. */
  readonly gzip?: boolean;
}

/** The answer, or the error. `now` is the environment's clock; without an environment, the newest clock. */
export type EndpointAnswer = {
  readonly now: Instant;
  readonly cpuMs: number;
} /** The body is a string where it stays in its thread: it is sent together with its headers. */ & (
  | { readonly body: Buffer | string; readonly gzipped: boolean }
  | { readonly refusal: HttpErrorParts }
);

/** An answer, and the state of the mirror that it was read from. */
type AnswerAtOnce = EndpointAnswer & { readonly state: MirrorState };

/** The only way to the mirror's rows. Each answer is read from one state of the mirror, here or in another thread. */
export interface EndpointAnswers {
  /** Answers a request that takes next to no time; null for any other. @throws Error for an internal failure */
  answerAtOnce?(request: AdmittedRequest): AnswerAtOnce | null;
  /** Answers any request, until `gone`. @throws HttpError if too many wait, Error for an internal failure */
  answer(request: AdmittedRequest, gone: AbortSignal): Promise<EndpointAnswer>;
  close(): Promise<void>;
}

export interface AnswerOptions extends Pick<RequestContext, 'weights'> {
  readonly store: MirrorReads;
}

export function answersHere(options: AnswerOptions): EndpointAnswers {
  const { answer } = openAnswering(options);
  return { answer: async (request) => answer(request), close: async () => {} };
}

/** Answers requests from an open mirror. It throws only for an internal failure; an HTTP error is an answer. */
export function openAnswering({ store, weights }: AnswerOptions) {
  const read = <Text>(request: AdmittedRequest, respond: (view: MirrorSnapshot, of: EndpointOperation) => Text) =>
    store.read((state) => {
      const env = request.params[ENV];
      try {
        // An unknown environment is refused before anything else is read.
        if (env !== undefined) requireEnvironment(state, env);
        return { state, text: respond(state, operationOf(request.operationId)) };
      } catch (error) {
        const refusal = httpErrorParts(error);
        if (refusal === null) throw error;
        return { state, refusal };
      }
    });
  return {
    answer(request: AdmittedRequest): EndpointAnswer {
      const before = process.threadCpuUsage();
      const answered = read(request, (view, { respond }) => {
        cacheVisibleAssets(view, request.reader, request.params[ENV]);
        return respond(view, { ...request, weights });
      });
      const body = answered.refusal ? { refusal: answered.refusal } : pack(answered.text, request.gzip);
      const { user, system } = process.threadCpuUsage(before);
      return { now: answered.state.clockOf(request.params[ENV]), ...body, cpuMs: (user + system) / 1000 };
    },
    /**
     * Answers requests that take next to no time, and returns null for others. A thread's round trip more than halves
     * the rate of such requests: from 5400 to 2400 per second for a single item, one client at a time.
     */
    answerLightly(request: AdmittedRequest): AnswerAtOnce | null {
      const env = request.params[ENV];
      if (env === undefined) return null;
      const answered = read(request, (view, { respondLightly }) => respondLightly(view, { ...request, weights }));
      const { state } = answered;
      const of = { state, now: state.clockOf(env), cpuMs: 0 };
      if (answered.refusal) return { ...of, refusal: answered.refusal };
      return answered.text === null ? null : { ...of, ...pack(answered.text, request.gzip) };
    },
  };
}

/** An answer that fits into one packet does not arrive sooner when it is compressed. */
const GZIP_FROM_BYTES = 1400;

function pack(text: string, gzip = false) {
  const isWorth = gzip && text.length >= GZIP_FROM_BYTES;
  // The fastest level: the others take up to four times as long and save only a tenth.
  return { gzipped: isWorth, body: isWorth ? gzipSync(text, { level: 1 }) : text };
}

interface EndpointOperation {
  readonly respond: (snapshot: MirrorSnapshot, context: RequestContext) => string;
  readonly respondLightly: (snapshot: MirrorSnapshot, context: RequestContext) => string | null;
}

const SCHEMAS = Object.fromEntries(
  sharedSchemas().map((schema) => [schema['$id'], lenient(schema) as unknown as FastSchema]),
);
const ENDPOINTS = new Map<string, Pick<ApiEndpoint, 'answer' | 'respond' | 'respondLightly'>>([
  [MEASURE, { answer: {}, respond: (view) => readSnapshotRows(view, MEASUREMENTS) }],
  ...[...readEndpoints(), ...pageEndpoints()].map((endpoint) => [endpoint.operationId, endpoint] as const),
]);
const operations = new Map<string, EndpointOperation>();

/** The operation with this id. The function that writes its answers is made when it is first needed. */
function operationOf(operationId: string): EndpointOperation {
  const known = operations.get(operationId);
  if (known !== undefined) return known;
  const endpoint = ENDPOINTS.get(operationId);
  if (endpoint === undefined) throw new Error(`no operation ${operationId}`);
  const write: (answer: unknown) => string = fastJson(endpoint.answer as unknown as FastSchema, { schema: SCHEMAS });
  const operation: EndpointOperation = {
    respond: (view, request) => write(endpoint.respond(view, request)),
    respondLightly(view, request) {
      const found = endpoint.respondLightly?.(view, request) ?? null;
      return typeof found === 'object' && found !== null ? write(found) : found;
    },
  };
  operations.set(operationId, operation);
  return operation;
}
