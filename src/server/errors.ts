import sensible from '@fastify/sensible';
import type { FastifySchemaValidationError } from 'fastify';

/** An HTTP error as plain data, which can be sent between threads. `code` is that of the error envelope. */
export interface HttpErrorParts {
  readonly statusCode: number;
  readonly code: string;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

type HttpError = Error & HttpErrorParts;

export const envelope = (code: string, message: string) => ({ error: { code, message } });

/** A message may quote an id from the address, which may have 256 KB. */
const MAX_MESSAGE_CHARACTERS = 500;

function httpError(statusCode: number, code: string, message: string, headers?: HttpError['headers']): HttpError {
  const shown =
    message.length > MAX_MESSAGE_CHARACTERS ? `${message.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed()}…` : message;
  return httpErrorFrom({ statusCode, code, message: shown, headers });
}

export const httpErrorFrom = ({ statusCode, message, code, headers }: HttpErrorParts): HttpError =>
  sensible.httpErrors.createError(statusCode, message, { code, headers, refusal: true }) as unknown as HttpError;

export const unprocessable = (message: string) => httpError(422, 'invalid_request', message);

const WORDS: Readonly<Record<string, (params: FastifySchemaValidationError['params']) => string>> = {
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as string[]).join(', ')}`,
  maxItems: ({ limit }) => `accepts at most ${limit} values`,
  format: () => 'must be an ISO 8601 date-time',
};

/** An HTTP error that names the parameter and the values it accepts. */
export function validationError([finding]: readonly FastifySchemaValidationError[]): Error {
  if (finding === undefined) return unprocessable('The request is not valid');
  const { keyword, instancePath, params, message } = finding;
  const name = instancePath.split('/')[1] ?? 'It';
  return unprocessable(`${name} ${WORDS[keyword]?.(params) ?? message ?? 'is not valid'}`);
}

/** Never cut: the API promises a list of all invalid ids. The address bounds it. */
export const badRequest = (message: string) => httpErrorFrom({ statusCode: 400, code: 'invalid_request', message });

export const undecodable = () => badRequest('The address cannot be decoded: percent-encode each part of it as UTF-8');

export const addressTooLong = () =>
  httpError(
    414,
    'invalid_request',
    'The address is longer than 256 KB: send the values of its filters in several requests',
  );

export const invalidCursor = () =>
  httpError(400, 'invalid_cursor', 'The cursor does not belong to this path and query: start again without it');

export const notFound = (what: string) => httpError(404, 'not_found', `${what} does not exist`);

export const methodNotAllowed = () =>
  httpError(405, 'method_not_allowed', 'The method is not allowed: use GET', { allow: 'GET, HEAD' });

/** RFC 6750, 3: the realm, and what is wrong with the token if one was sent. */
const challenge = (error?: 'invalid_token' | 'insufficient_scope') => ({
  'www-authenticate': `Bearer realm="obsync"${error === undefined ? '' : `, error="${error}"`}`,
});

export const missingToken = () => httpError(401, 'unauthenticated', 'Missing bearer token', challenge());

export const invalidToken = () => httpError(401, 'unauthenticated', 'Invalid bearer token', challenge('invalid_token'));

export const permissionDenied = (message: string) =>
  httpError(403, 'permission_denied', message, challenge('insufficient_scope'));

export const rateLimited = (seconds: number) =>
  httpError(429, 'rate_limited', `Rate limit exceeded: try again in ${seconds} s`);

/** By then the waiting requests should be answered. */
const OVERLOADED_SECONDS = 2;

export const overloaded = () =>
  httpError(503, 'overloaded', `Too many requests are waiting: try again in ${OVERLOADED_SECONDS} s`, {
    'retry-after': String(OVERLOADED_SECONDS),
  });

export const mirrorReplaced = () =>
  httpError(503, 'mirror_replaced', 'The mirror file was replaced, overwritten or removed: restart the server');

export function mirrorDamaged(isReplica: boolean, cause: unknown): Error {
  const message = isReplica
    ? 'The replica of the mirror is damaged: restart the server, which rebuilds it'
    : 'The mirror file is damaged: restore it from a backup, or move it away and sync again, then restart the server';
  return Object.assign(httpError(503, 'mirror_damaged', message), { cause });
}

/** Only logged: the client is gone. */
export const clientGone = () => httpError(499, 'client_gone', 'The client closed the connection');

/** The data of an HTTP error; null for an internal failure. */
export function httpErrorParts(error: unknown): HttpErrorParts | null {
  if (!isHttpError(error)) return null;
  const { statusCode, code, message, headers } = error;
  return { statusCode, code, message, headers };
}

const isHttpError = (error: unknown): error is HttpError =>
  typeof error === 'object' && error !== null && 'refusal' in error;

/** Converts any failure to an HTTP error. Fastify's have a `statusCode`; internal failures reveal no details. */
export function httpErrorOf(error: unknown): HttpError {
  if (isHttpError(error)) return error;
  const { statusCode = 500, message } = error as { statusCode?: number; message: string };
  if (statusCode < 400 || statusCode >= 500) return httpError(500, 'internal_error', 'Unexpected server error');
  return httpError(statusCode, statusCode === 404 ? 'not_found' : 'invalid_request', message);
}
