/** An answer that refuses: what stands in the error envelope, and its status. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.code = code;
  }
}

interface Envelope {
  readonly error: { readonly code: string; readonly message: string };
}

export function envelope(code: string, message: string): Envelope {
  return { error: { code, message } };
}

export const unprocessable = (message: string) => new Refusal(422, 'invalid_request', message);

export const badRequest = (message: string) => new Refusal(400, 'invalid_request', message);

export const invalidCursor = () =>
  new Refusal(400, 'invalid_cursor', 'The cursor does not belong to this path and query: start again without it');

export const notFound = (what: string) => new Refusal(404, 'not_found', `${what} does not exist`);

export const unauthenticated = () => new Refusal(401, 'unauthenticated', 'Missing or invalid bearer token');

export const rateLimited = (seconds: number) =>
  new Refusal(429, 'rate_limited', `Rate limit exceeded: try again in ${seconds} s`);

/** What is said of any failure; the framework's own refusals carry a `statusCode`, crashes tell nothing of themselves. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { statusCode = 500, message } = error as { statusCode?: number; message: string };
  if (statusCode < 400 || statusCode >= 500) return new Refusal(500, 'internal_error', 'Unexpected server error');
  return new Refusal(statusCode, statusCode === 404 ? 'not_found' : 'invalid_request', message);
}
