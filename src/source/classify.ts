import { SyncError } from '../core/errors.ts';
import { retryAfterMs } from '../core/quota/retry-delay.ts';
import { type BodyDecoder, decodeError, parseJson } from './envelope.ts';
import { parseHeavyPage } from './heavy-page.ts';
import { HEAVY_BYTES } from './heavy-turns.ts';
import { maskToken } from './mask-token.ts';
import { errorCode, type HttpAnswer, type RequestOutcome, type TransportError } from './send.ts';

/** What messages say about a request. `secret` is the token, which no message may show (R25). */
export interface RequestDescription {
  /** The path, without its query. */
  readonly path: string;
  readonly secret: string;
  /** The option, variable or file that gave the token. */
  readonly tokenFrom?: string | undefined;
  /** What the user should do when the request fails; null for the usual advice. */
  readonly advice: string | null;
}

/** The token, which no message may show, and where it came from, which messages tell (R25). */
export function secretOf({
  token,
  tokenFrom,
}: {
  token: string;
  tokenFrom?: string;
}): Pick<RequestDescription, 'secret' | 'tokenFrom'> {
  return { secret: token, tokenFrom };
}

/** A failed try that may be repeated (R24). */
export interface RetriableFailure {
  /** A smaller page may help against `slow` (5xx or time-out), not against `broken` and `refused`. */
  readonly kind: 'slow' | 'broken' | 'refused';
  /** What happened, as it stands after `GET /path: `. */
  readonly text: string;
  readonly cause: unknown;
  readonly retryAfterMs: number | null;
}

/** What one outcome means. `refused` is a 429, which is not yet a failed try (R23). */
export type Classification<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'again'; readonly trouble: RetriableFailure }
  | { readonly kind: 'refused'; readonly atMs: number }
  | { readonly kind: 'failed'; readonly error: SyncError };

const LONGEST_QUOTE = 200;

/** Decides by status and error code alone. A status that decides by itself counts even when the body is lost. */
export function classify<T>(
  { answer, fault, heardMs }: RequestOutcome,
  requestDescription: RequestDescription,
  bodyDecoder: BodyDecoder<T>,
): Classification<T> {
  const status = answer?.status ?? 0;
  if (status === 429) return { kind: 'refused', atMs: heardMs };
  if (answer !== null && status === 401) return failed(tokenRefused(answer, requestDescription));
  if (answer !== null && status >= 500) return retriable(serverFailure(answer, requestDescription));
  if (fault?.kind === 'too-large' && status < 300) return failed(tooLarge(requestDescription, fault));
  if (fault !== null && fault.kind !== 'too-large') return retriable(transportFailure(fault));
  if (answer === null) return retriable(broken('no answer', undefined));
  if (status < 300) return decoded(answer, requestDescription, bodyDecoder);
  return failed(status < 400 ? redirected(answer, requestDescription) : rejected(answer, requestDescription));
}

/**
 * The error after the last try; `before` is the number of tries in earlier runs. A page that was too large for the service in every
 * try may be asked for in halves (R24).
 */
export function exhausted(
  troubles: readonly RetriableFailure[],
  requestDescription: RequestDescription,
  before: number,
): SyncError {
  const last = troubles.at(-1);
  const recovery = troubles.every((trouble) => trouble.kind === 'slow') ? 'halve-page' : 'stream';
  const count = before + troubles.length;
  const tries = count === 1 ? '1 try' : `${count} tries`;
  const advice = 'Try again later; if it fails again, check the base URL and the network.';
  const text = `GET ${requestDescription.path}: ${last?.text ?? 'no answer'}, after ${tries}. ${advice}`;
  return new SyncError(recovery, text, { cause: last?.cause });
}

/** A 429 while other lists are answered (R9). */
export function refusedAlone(): RetriableFailure {
  return {
    kind: 'refused',
    text: 'answered 429 while other lists were answered',
    cause: undefined,
    retryAfterMs: null,
  };
}

/** The error that ends a run because the service does not answer any more (R24). */
export function serviceAway(last: RetriableFailure, path: string, tries: number): SyncError {
  const probed = tries === 1 ? 'a probe' : `${tries} probes`;
  const what = `several lists failed in a row, and so did ${probed}, the last one GET ${path}: ${last.text}`;
  const text = `The service is not available: ${what}. Run again when it is back.`;
  return new SyncError('run', text, { cause: last.cause });
}

/** Without the environments there is no run: an error that would fail one stream ends the run. */
export function endsRunHere(error: SyncError): SyncError {
  return new SyncError('run', `Cannot list the environments: ${error.message}`, { cause: error.cause });
}

function decoded<T>(
  httpAnswer: HttpAnswer,
  requestDescription: RequestDescription,
  bodyDecoder: BodyDecoder<T>,
): Classification<T> {
  const json = parseBody(httpAnswer);
  const value = json === undefined ? null : bodyDecoder(json);
  if (value !== null) return { kind: 'done', value };
  const type = quote(httpAnswer.headers['content-type'] ?? 'no content type', requestDescription);
  const what = json === undefined ? `a body that is not JSON (${type})` : 'a body that is not the expected list';
  return retriable(broken(`answered ${httpAnswer.status} with ${what}`, undefined));
}

/** Parses a heavy body in slices. It is parsed whole only when it does not have the form of a list (R27). */
function parseBody({ body }: HttpAnswer): unknown {
  if (body === null) return undefined;
  const heavy = body.length > HEAVY_BYTES ? parseHeavyPage(body) : null;
  return heavy === null ? parseJson(body) : heavy;
}

function serverFailure(httpAnswer: HttpAnswer, requestDescription: RequestDescription): RetriableFailure {
  const waitMs = httpAnswer.status === 503 ? retryAfterMs(httpAnswer.headers) : null;
  return { kind: 'slow', text: answered(httpAnswer, requestDescription), cause: undefined, retryAfterMs: waitMs };
}

function transportFailure({ kind, cause }: TransportError): RetriableFailure {
  if (kind === 'time-out') return { kind: 'slow', text: 'no complete answer in time', cause, retryAfterMs: null };
  if (kind === 'encoding') return broken('a body that cannot be decompressed', cause);
  return broken(`the connection failed${errorCode(cause) === '' ? '' : ` (${errorCode(cause)})`}`, cause);
}

function broken(text: string, cause: unknown): RetriableFailure {
  return { kind: 'broken', text, cause, retryAfterMs: null };
}

function tokenRefused(httpAnswer: HttpAnswer, requestDescription: RequestDescription): SyncError {
  return sentence(
    'token',
    answered(httpAnswer, requestDescription),
    { ...requestDescription, advice: null },
    `The token${requestDescription.tokenFrom === undefined ? '' : ` in ${requestDescription.tokenFrom}`} is refused: give a valid one.`,
  );
}

/** A page of half as many rows may be small enough (R24, R27). */
function tooLarge({ path }: RequestDescription, { cause }: TransportError): SyncError {
  const text = `GET ${path}: the page is longer than 64 MiB. The next request asks for half as many rows. Report this if it happens again.`;
  return new SyncError('halve-page', text, { cause });
}

/** Shows only the path of the new address, because the rest may contain secrets. Following it would send the token there. */
function redirected(httpAnswer: HttpAnswer, requestDescription: RequestDescription): SyncError {
  const path = URL.parse(httpAnswer.headers.location ?? '', 'http://relative.invalid')?.pathname ?? '/';
  const what = `${answered(httpAnswer, requestDescription)}, a redirect to ${quote(path, requestDescription)}, which is not followed`;
  return sentence('stream', what, requestDescription, 'Check the base URL.');
}

/** The request is too long: its URL (414), or URL and headers together (431). */
const TOO_LONG = new Set([414, 431]);

function rejected(httpAnswer: HttpAnswer, requestDescription: RequestDescription): SyncError {
  const code = errorOf(httpAnswer)?.code ?? null;
  const what = answered(httpAnswer, requestDescription);
  if (httpAnswer.status === 400 && code === 'invalid_cursor') {
    return sentence('restart-read', what, requestDescription, 'The read has to start again at its first page.');
  }
  if (TOO_LONG.has(httpAnswer.status))
    return sentence('halve-page', what, requestDescription, 'The next request asks for fewer ids.');
  if (httpAnswer.status === 403) {
    return sentence(
      'forbidden',
      what,
      { ...requestDescription, advice: null },
      'The token may lack access to the environment or the view scope.',
    );
  }
  if (httpAnswer.status === 404 && code !== null)
    return sentence('not-live', what, requestDescription, 'It is not live or does not exist.');
  if (httpAnswer.status === 404) return sentence('stream', what, requestDescription, 'Check the base URL.');
  return sentence(
    'restart-round',
    what,
    requestDescription,
    'Another try would not help. Report this if it happens again.',
  );
}

function sentence(
  recovery: SyncError['recovery'],
  what: string,
  requestDescription: RequestDescription,
  advice: string,
): SyncError {
  return new SyncError(recovery, `GET ${requestDescription.path}: ${what}. ${requestDescription.advice ?? advice}`);
}

/** `answered 403 permission_denied ("needs the tests view scope")` */
function answered(httpAnswer: HttpAnswer, requestDescription: RequestDescription): string {
  const error = errorOf(httpAnswer);
  if (error === null) return `answered ${httpAnswer.status}`;
  const message = error.message === '' ? '' : ` ("${quote(error.message, requestDescription)}")`;
  return `answered ${httpAnswer.status} ${quote(error.code, requestDescription)}${message}`;
}

function errorOf({ body }: HttpAnswer): ReturnType<typeof decodeError> {
  return body === null ? null : decodeError(parseJson(body));
}

/** Text of the service on one line, shortened, without control characters and without the token (R25). */
function quote(text: string, { secret }: RequestDescription): string {
  const clean = maskToken(text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' '), secret);
  return clean.length > LONGEST_QUOTE ? `${clean.slice(0, LONGEST_QUOTE - 1)}…` : clean;
}

function retriable(retriableFailure: RetriableFailure): { readonly kind: 'again'; readonly trouble: RetriableFailure } {
  return { kind: 'again', trouble: retriableFailure };
}

function failed(error: SyncError): { readonly kind: 'failed'; readonly error: SyncError } {
  return { kind: 'failed', error };
}
