import { gzipSync } from 'node:zlib';
import type { Instant } from '../core/instant.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import type { Principal } from './access.ts';
import { ENV, type EndpointOptions, endpointsOf, type RequestContext, sharedSchemas } from './endpoints.ts';
import { requireEnvironment } from './environments.ts';
import { type HttpErrorParts, httpErrorParts } from './errors.ts';
import { type MirrorSnapshot, openMirrorReads } from './mirror-reads.ts';
import { COUNT_ROWS, countRows } from './row-counts.ts';
import { serializers } from './serializers.ts';
import { keepVisible } from './visibility.ts';

/** A request that is let in: what is asked for, by whom, and of what. */
export interface AdmittedRequest extends RequestContext {
  readonly operationId: string;
  /** Whether the answer may come compressed. */
  readonly gzip?: boolean;
}

/** What is answered, or why it is refused; as of `now`, the environment's clock or, without one, the newest. */
export type EndpointAnswer = {
  readonly now: Instant;
  readonly cpuMs: number;
} /** A text where it stays in its thread: it is sent in one piece with its headers. */ & (
  | { readonly body: Buffer | string; readonly gzipped: boolean }
  | { readonly refusal: HttpErrorParts }
);

/**
 * The one way to the mirror's rows: a question in, an answer out, each from one state of the mirror. Read at once
 * (`answersHere`), or in threads (`answersInThreads`).
 */
export interface EndpointAnswers {
  /** The answer to what takes next to no time, read at once; null for all else. @throws Error for a failure inside */
  answerAtOnce(admittedRequest: AdmittedRequest): EndpointAnswer | null;
  /** Not read any more once `gone` has aborted. @throws Refusal when too many wait, Error for a failure inside */
  answer(admittedRequest: AdmittedRequest, gone: AbortSignal): Promise<EndpointAnswer>;
  close(): Promise<void>;
}

export interface AnswerOptions extends EndpointOptions {
  readonly mirror: MirrorFile;
  /** Seals cursors while the mirror has no key. */
  readonly cursorKey?: string;
}

/** Answers are read and written out at once, by whoever asks. */
export function answersHere(options: AnswerOptions): EndpointAnswers {
  const answer = openAnswering(options);
  return { answerAtOnce: () => null, answer: async (asking) => answer(asking), close: async () => {} };
}

/** What answers by a mirror that is open. @throws Error for a failure inside, never a refusal */
export function openAnswering({
  mirror,
  cursorKey,
  ...options
}: AnswerOptions): (admittedRequest: AdmittedRequest) => EndpointAnswer {
  const store = openMirrorReads(mirror, cursorKey);
  const operations = operationsOf(options);
  return ({ operationId, gzip = false, ...ask }) => {
    const before = process.threadCpuUsage();
    const answered = store.read((view) =>
      told(view, ask.params[ENV], (env) => {
        if (env !== undefined) enter(view, ask.reader, env);
        return operations(operationId).respond(view, ask);
      }),
    );
    const packed = 'refusal' in answered ? answered : pack(answered, gzip);
    const { user, system } = process.threadCpuUsage(before);
    return { ...packed, cpuMs: (user + system) / 1000 };
  };
}

/** Answers at once what takes next to no time, which a thread of its own would cost several times over; null for all else. */
export function openLightAnswering({
  mirror,
  cursorKey,
  ...options
}: AnswerOptions): (admittedRequest: AdmittedRequest) => EndpointAnswer | null {
  const store = openMirrorReads(mirror, cursorKey);
  const operations = operationsOf(options);
  return ({ operationId, gzip = false, ...ask }) => {
    const answered = store.read((view) =>
      told(view, ask.params[ENV], (env) => {
        if (env === undefined) return null;
        requireEnvironment(view, env);
        return operations(operationId).respondLightly(view, ask);
      }),
    );
    if (answered === null) return null;
    return { ...('refusal' in answered ? answered : pack(answered, gzip)), cpuMs: 0 };
  };
}

type TimedAnswer<Text> = { readonly now: Instant } & ({ readonly text: Text } | { readonly refusal: HttpErrorParts });

type AnswerIn<Text> = (env: string | undefined) => Text;

/** What is answered, or why it is refused. Null for no answer. */
function told(view: MirrorSnapshot, env: string | undefined, answer: AnswerIn<string>): TimedAnswer<string>;
function told(
  view: MirrorSnapshot,
  env: string | undefined,
  answer: AnswerIn<string | null>,
): TimedAnswer<string> | null;
function told(
  view: MirrorSnapshot,
  env: string | undefined,
  answer: AnswerIn<string | null>,
): TimedAnswer<string> | null {
  const now = view.clockOf(env);
  try {
    const text = answer(env);
    return text === null ? null : { now, text };
  } catch (error) {
    const refusal = httpErrorParts(error);
    if (refusal === null) throw error;
    return { now, refusal };
  }
}

/** What fits into one packet arrives no sooner for being smaller. */
const GZIP_FROM_BYTES = 1400;

function pack({ now, text }: { readonly now: Instant; readonly text: string }, gzip: boolean) {
  const isWorth = gzip && text.length >= GZIP_FROM_BYTES;
  // The fastest level: the others take up to four times as long and save a tenth.
  return { now, gzipped: isWorth, body: isWorth ? gzipSync(text, { level: 1 }) : text };
}

/** What leads nowhere costs nothing more. @throws Refusal 404 */
function enter(mirrorSnapshot: MirrorSnapshot, principal: Principal, env: string): void {
  requireEnvironment(mirrorSnapshot, env);
  keepVisible(mirrorSnapshot, principal, env);
}

interface EndpointOperation {
  respond(mirrorSnapshot: MirrorSnapshot, requestContext: RequestContext): string;
  respondLightly(mirrorSnapshot: MirrorSnapshot, requestContext: RequestContext): string | null;
}

const COUNTING: EndpointOperation = { respond: (view) => JSON.stringify(countRows(view)), respondLightly: () => null };

/** The operations by their ids; what writes an answer out is made when it is first needed. */
function operationsOf(options: EndpointOptions): (operationId: string) => EndpointOperation {
  const writerOf = serializers(Object.fromEntries(sharedSchemas().map((schema) => [schema.$id, schema])));
  const endpoints = new Map(endpointsOf(options).map((endpoint) => [endpoint.operationId, endpoint]));
  const operations = new Map<string, EndpointOperation>([[COUNT_ROWS, COUNTING]]);
  return (operationId) => {
    const known = operations.get(operationId);
    if (known !== undefined) return known;
    const endpoint = endpoints.get(operationId);
    if (endpoint === undefined) throw new Error(`no operation ${operationId}`);
    const write = writerOf({ schema: endpoint.answer });
    const endpointOperation: EndpointOperation = {
      respond: (view, ask) => write(endpoint.respond(view, ask)),
      respondLightly(view, ask) {
        if (endpoint.writeLightly !== undefined) return endpoint.writeLightly(view, ask);
        const found = endpoint.respondLightly?.(view, ask) ?? null;
        return found === null ? null : write(found);
      },
    };
    operations.set(operationId, endpointOperation);
    return endpointOperation;
  };
}
