import type { FastifyReply, FastifyRequest } from 'fastify';
import { envelope, httpErrorOf } from './errors.ts';

/** Answers with the error envelope. An internal failure is logged, and its details are not sent. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { statusCode, code, message, headers = {} } = httpErrorOf(error);
  if (statusCode === 500) request.log.error({ err: error }, 'a request failed');
  return reply.code(statusCode).headers(headers).send(envelope(code, message));
}

type RefusalText = readonly [status: string, message: string];

/** Statuses and messages for errors of the HTTP parser. */
const PARSER_ERRORS: Readonly<Record<string, RefusalText>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'The address and headers are too long in total, or too many: 272 KB is the limit',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive'],
};

const OTHER_ERROR: RefusalText = ['400 Bad Request', 'The request cannot be read'];

export const REFUSAL_STATUSES = [OTHER_ERROR, ...Object.values(PARSER_ERRORS)].map(([status]) => status.slice(0, 3));

/** How long a client may take to read the answer to a malformed request. */
const LINGER_MS = 1000;

/** Connections already answered: every further part of a malformed request is another error. */
const rejected = new WeakSet<object>();

export interface RefusalContext {
  /**
   * Resolves when the answers due on the connection have been sent; null if none is due and no request is half read. A
   * refusal would be taken for the answer to one of these requests (RFC 9112, 9.3.2).
   */
  unfinished(socket: object): Promise<void> | null;
  /** Called for each refusal that is sent. */
  refused(status: number): void;
}

/** Answers a malformed request, then closes the connection: earlier, a client still sending would miss the answer. */
export function rejectMalformed(
  error: Error & { code?: string },
  socket: { writable: boolean; end(text: string): void; destroy(): void },
  { unfinished, refused }: RefusalContext,
): void {
  if (rejected.has(socket) && error.code !== 'ECONNRESET') return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  rejected.add(socket);
  const close = (text: string): void => {
    socket.end(text);
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };
  const due = unfinished(socket);
  if (due !== null) return void due.then(() => close(''));
  const [status, message] = PARSER_ERRORS[error.code ?? ''] ?? OTHER_ERROR;
  refused(Number.parseInt(status, 10));
  close(refusalText(status, message));
}

function refusalText(status: string, message: string): string {
  const body = JSON.stringify(envelope('invalid_request', message));
  return [
    `HTTP/1.1 ${status}`,
    `Date: ${new Date().toUTCString()}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
