import type { FastifyReply, FastifyRequest } from 'fastify';
import { envelope, httpErrorOf } from './errors.ts';

/** Answers with the error envelope. An internal failure is logged, and its details are not sent. */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { statusCode, code, message, headers = {} } = httpErrorOf(error);
  if (statusCode === 500) request.log.error({ err: error }, 'a request failed');
  return reply.code(statusCode).headers(headers).send(envelope(code, message));
}

/** Statuses and messages for errors of the HTTP parser. All others are 400. */
const PARSER_ERRORS: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The address and headers are too long in total'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive'],
};

/** How long a client may take to read the answer to a malformed request. */
const LINGER_MS = 1000;

/** Connections already answered: every further part of a malformed request is another error. */
const rejected = new WeakSet<object>();

/**
 * Answers a malformed request, then closes the connection even if the client does not. The client may still be sending:
 * if the connection closed earlier, it would never see the answer.
 */
export function rejectMalformed(
  error: Error & { code?: string },
  socket: { writable: boolean; end(text: string): void; destroy(): void },
): void {
  if (rejected.has(socket) && error.code !== 'ECONNRESET') return;
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, message] = PARSER_ERRORS[error.code ?? ''] ?? ['400 Bad Request', 'The request cannot be read'];
  rejected.add(socket);
  const body = JSON.stringify(envelope('invalid_request', message));
  const head = [`HTTP/1.1 ${status}`, 'Content-Type: application/json; charset=utf-8'];
  socket.end([...head, `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close', '', body].join('\r\n'));
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
