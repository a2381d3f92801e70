import { SyncError } from '../core/errors.ts';
import { retryAfterMs } from '../core/quota/retry-delay.ts';
import { connectionFailure, type RemoteHost, remoteName } from './connection-failure.ts';
import { type BodyDecoder, decodeError, parseJson } from './envelope.ts';
import { parseHeavyPage } from './heavy-page.ts';
import { maskToken } from './mask-token.ts';
import { HEAVY_BYTES, type HttpAnswer, type RequestOutcome, type TransportError } from './send.ts';

/** How messages describe a request. `secret` is the token, which no message may contain (R25). */
export interface RequestDescription extends RemoteHost {
  /** The path, without its query. */
  readonly path: string;
  readonly secret: string;
  /** The option, variable or file that the token came from. */
  readonly tokenFrom?: string | undefined;
  /** What the user should do if the request fails; null for the usual advice. */
  readonly advice: string | null;
}

/** A failed try that may be repeated (R24). */
export interface RetriableFailure {
  /** A smaller page may help with `slow` (5xx or time-out), but not with `broken` or `refused`. */
  readonly kind: 'slow' | 'broken' | 'refused';
  /** What happened, as it follows `GET /path: `. */
  readonly text: string;
  readonly cause: unknown;
  readonly retryAfterMs: number | null;
  /** What to do if the first request of a run fails this way; null if another try may help. */
  readonly setupAdvice: string | null;
}

/** What one outcome means. `refused` is a 429, which does not yet count as a failed try (R23). */
export type Classification<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'retry'; readonly failure: RetriableFailure }
  | { readonly kind: 'refused'; readonly atMs: number }
  | { readonly kind: 'failed'; readonly error: SyncError };

const LONGEST_QUOTE = 200;

/** Decides by status and error code alone. A status that decides by itself counts even if the body is lost. */
export function classify<T>(
  { answer, fault, heardMs }: RequestOutcome,
  description: RequestDescription,
  decoder: BodyDecoder<T>,
): Classification<T> {
  const status = answer?.status ?? 0;
  if (status === 429) return { kind: 'refused', atMs: heardMs };
  if (answer !== null && status === 401) return { kind: 'failed', error: tokenRefused(answer, description) };
  if (answer !== null && status >= 500) return { kind: 'retry', failure: serverFailure(answer, description) };
  if (fault?.kind === 'too-large' && status < 300) return { kind: 'failed', error: tooLarge(description, fault) };
  if (fault !== null && (status < 300 || !UNREADABLE.has(fault.kind)))
    return { kind: 'retry', failure: transportFailure(fault, description) };
  if (answer === null) return { kind: 'retry', failure: broken('no answer', undefined) };
  if (status < 300) return decoded(answer, description, decoder);
  return { kind: 'failed', error: status < 400 ? redirected(answer, description) : rejected(answer, description) };
}

/** The whole body came, but cannot be read. Another try would not make more of an error. */
const UNREADABLE: ReadonlySet<TransportError['kind']> = new Set(['too-large', 'encoding']);

/** The error after the last try. A page that was too large for the service in every try may be halved (R24). */
export function exhausted(
  failures: readonly RetriableFailure[],
  { description, failedTries }: { readonly description: RequestDescription; readonly failedTries: number },
): SyncError {
  const last = failures.at(-1);
  const recovery = failures.every((failure) => failure.kind === 'slow') ? 'halve-page' : 'stream';
  const count = failedTries + failures.length;
  const tries = count === 1 ? '1 try' : `${count} tries`;
  const advice = 'Try again later; if it fails again, check the base URL and the network.';
  const text = `GET ${description.path}: ${last?.text ?? 'no answer'}, after ${tries}. ${advice}`;
  return new SyncError(recovery, text, { cause: last?.cause });
}

/** A 429 while requests to other lists pass (R9). */
export function refusedAlone(): RetriableFailure {
  return { ...broken('answered 429 while other lists succeeded', undefined), kind: 'refused' };
}

/** The error that ends a run because the service no longer responds (R24). */
export function serviceAway(last: RetriableFailure, path: string, tries: number): SyncError {
  const probed = tries === 1 ? 'a probe' : `${tries} probes`;
  const what = `several lists failed in a row, and so did ${probed}, the last one GET ${path}: ${last.text}`;
  const text = `The service is not available: ${what}. Run again when it is back.`;
  return new SyncError('run', text, { cause: last.cause });
}

function decoded<T>(answer: HttpAnswer, description: RequestDescription, decoder: BodyDecoder<T>): Classification<T> {
  const json = parseBody(answer);
  const value = json === undefined ? null : decoder(json);
  if (value !== null) return { kind: 'done', value };
  const type = quote(answer.headers['content-type'] ?? 'no content type', description);
  const what = json === undefined ? `a body that is not JSON (${type})` : 'a body that is not the expected list';
  const failure = broken(`${description.host} answered ${answer.status} with ${what}`, undefined);
  const setupAdvice = json !== undefined || isHtml(answer) ? NOT_THE_API : null;
  return { kind: 'retry', failure: { ...failure, setupAdvice } };
}

const NOT_THE_API = 'This is not the API: check the base URL, and whether a gateway or proxy asks for a login.';

/** A page for people. Half a page of JSON may be complete the next time. */
function isHtml({ headers, body }: HttpAnswer): boolean {
  return /\bhtml\b/i.test(headers['content-type'] ?? '') || body?.subarray(0, 1).toString() === '<';
}

/** Parses a heavy body in slices; it is parsed whole only if it does not look like a list (R27). */
function parseBody({ body }: HttpAnswer): unknown {
  if (body === null) return undefined;
  const heavy = body.length > HEAVY_BYTES ? parseHeavyPage(body) : null;
  return heavy === null ? parseJson(body) : heavy;
}

function serverFailure(answer: HttpAnswer, description: RequestDescription): RetriableFailure {
  const waitMs = answer.status === 503 ? retryAfterMs(answer.headers) : null;
  return { ...broken(answered(answer, description), undefined), kind: 'slow', retryAfterMs: waitMs };
}

function transportFailure({ kind, cause }: TransportError, remote: RemoteHost): RetriableFailure {
  if (kind === 'time-out')
    return { ...broken(`no complete answer from ${remoteName(remote)} in time`, cause), kind: 'slow' };
  if (kind === 'encoding') return broken('a body that cannot be decompressed', cause);
  const { text, advice } = connectionFailure(cause, remote);
  return { ...broken(text, cause), setupAdvice: advice };
}

function broken(text: string, cause: unknown): RetriableFailure {
  return { kind: 'broken', text, cause, retryAfterMs: null, setupAdvice: null };
}

function tokenRefused(answer: HttpAnswer, description: RequestDescription): SyncError {
  const from = description.tokenFrom === undefined ? '' : ` in ${description.tokenFrom}`;
  const advice = `The token${from} is refused: give a valid one.`;
  return sentence('token', answered(answer, description), description.path, advice);
}

/** A page of half as many rows may be small enough (R24, R27). */
function tooLarge({ path }: RequestDescription, { cause }: TransportError): SyncError {
  const text = `GET ${path}: the page is longer than 64 MiB. The next request asks for half as many rows. Report this if it happens again.`;
  return new SyncError('halve-page', text, { cause });
}

/** Shows the new address without what may be secret in it. Following it would send the token there. */
function redirected(answer: HttpAnswer, description: RequestDescription): SyncError {
  const url = URL.parse(answer.headers.location ?? '', RELATIVE) ?? new URL(RELATIVE);
  Object.assign(url, { username: '', password: '', search: '', hash: '' });
  const target = quote(url.origin === RELATIVE ? url.pathname : url.href, description);
  const what = `${description.host} ${answered(answer, description)}, a redirect to ${target}, which is not followed`;
  return sentence('stream', what, description.path, NOT_THE_API);
}

const RELATIVE = 'http://relative.invalid';

/** The request is too long: its URL (414), or URL and headers together (431). */
const TOO_LONG = new Set([414, 431]);

function rejected(answer: HttpAnswer, description: RequestDescription): SyncError {
  const code = errorOf(answer)?.code ?? null;
  const what = answered(answer, description);
  const { path, advice } = description;
  if (answer.status === 403)
    return sentence('forbidden', what, path, 'The token may lack access to the environment or the view scope.');
  const failed = (recovery: SyncError['recovery'], usual: string) => sentence(recovery, what, path, advice ?? usual);
  if (answer.status === 400 && code === 'invalid_cursor')
    return failed('restart-read', 'The read has to start again at its first page.');
  if (TOO_LONG.has(answer.status)) return failed('halve-page', 'The next request has fewer ids.');
  if (answer.status === 404 && code !== null) return failed('not-live', 'It is not live or does not exist.');
  if (answer.status === 404) return failed('stream', 'Check the base URL.');
  return failed('restart-round', 'Another try would not help. Report this if it happens again.');
}

function sentence(recovery: SyncError['recovery'], what: string, path: string, advice: string): SyncError {
  return new SyncError(recovery, `GET ${path}: ${what}. ${advice}`);
}

/** `answered 403 permission_denied ("needs the tests view scope")` */
function answered(answer: HttpAnswer, description: RequestDescription): string {
  const error = errorOf(answer);
  if (error === null) return `answered ${answer.status}`;
  const message = error.message === '' ? '' : ` ("${quote(error.message, description)}")`;
  return `answered ${answer.status} ${quote(error.code, description)}${message}`;
}

function errorOf({ body }: HttpAnswer): ReturnType<typeof decodeError> {
  return body === null ? null : decodeError(parseJson(body));
}

/** A text of the service on one line, truncated, without control characters and without the token (R25). */
function quote(text: string, { secret }: RequestDescription): string {
  const clean = maskToken(text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' '), secret);
  return clean.length > LONGEST_QUOTE ? `${clean.slice(0, LONGEST_QUOTE - 1)}…` : clean;
}
