import type { Instant } from '../core/instant.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import type { Reader } from './access.ts';
import { type Ask, ENV, type EndpointOptions, endpointsOf, sharedSchemas } from './endpoints.ts';
import { requireEnvironment } from './environments.ts';
import { type RefusalParts, refusalParts } from './errors.ts';
import { COUNT_ROWS, countRows } from './row-counts.ts';
import { serializers } from './serializers.ts';
import { openStore, type View } from './store.ts';
import { keepVisible } from './visibility.ts';

/** A request that is let in: what is asked for, by whom, and of what. */
export interface Asking extends Ask {
  readonly operationId: string;
}

/** What is answered, or why it is refused; as of `now`, the mirror's clock. */
export type Answer = { readonly now: Instant; readonly cpuMs: number } & (
  | { readonly body: Buffer }
  | { readonly refusal: RefusalParts }
);

/**
 * The one way to the mirror's rows: a question in, an answer out, each from one state of the mirror. Read at once
 * (`answersHere`), or in threads (`answersInThreads`).
 */
export interface Answers {
  /** Not read any more once `gone` has aborted. @throws Refusal when too many wait, Error for a failure inside */
  answer(asking: Asking, gone: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}

export interface AnswerOptions extends EndpointOptions {
  readonly mirror: MirrorFile;
  /** Seals cursors while the mirror has no key. */
  readonly cursorKey?: string;
}

/** Answers are read and written out at once, by whoever asks. */
export function answersHere(options: AnswerOptions): Answers {
  const answer = openAnswering(options);
  return { answer: async (asking) => answer(asking), close: async () => {} };
}

/** What answers by a mirror that is open. @throws Error for a failure inside, never a refusal */
export function openAnswering({ mirror, cursorKey, ...options }: AnswerOptions): (asking: Asking) => Answer {
  const store = openStore(mirror, cursorKey);
  const operations = operationsOf(options);
  return ({ operationId, ...ask }) => {
    const before = process.threadCpuUsage();
    const answered = store.read((view) => {
      try {
        const env = ask.params[ENV];
        if (env !== undefined) enter(view, ask.reader, env);
        return { now: view.now, body: Buffer.from(operations(operationId)(view, ask)) };
      } catch (error) {
        const refusal = refusalParts(error);
        if (refusal === null) throw error;
        return { now: view.now, refusal };
      }
    });
    const { user, system } = process.threadCpuUsage(before);
    return { ...answered, cpuMs: (user + system) / 1000 };
  };
}

/** What leads nowhere costs nothing more. @throws Refusal 404 */
function enter(view: View, reader: Reader, env: string): void {
  requireEnvironment(view, env);
  keepVisible(view, reader, env);
}

type Operation = (view: View, ask: Ask) => string;

/** The operations by their ids; what writes an answer out is made when it is first needed. */
function operationsOf(options: EndpointOptions): (operationId: string) => Operation {
  const writerOf = serializers(Object.fromEntries(sharedSchemas().map((schema) => [schema.$id, schema])));
  const endpoints = new Map(endpointsOf(options).map((endpoint) => [endpoint.operationId, endpoint]));
  const operations = new Map<string, Operation>([[COUNT_ROWS, (view) => JSON.stringify(countRows(view))]]);
  return (operationId) => {
    const known = operations.get(operationId);
    if (known !== undefined) return known;
    const endpoint = endpoints.get(operationId);
    if (endpoint === undefined) throw new Error(`no operation ${operationId}`);
    const write = writerOf({ schema: endpoint.answer });
    const operation: Operation = (view, ask) => write(endpoint.respond(view, ask));
    operations.set(operationId, operation);
    return operation;
  };
}
