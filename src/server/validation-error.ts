import type { FastifySchemaValidationError } from 'fastify';
import { unprocessable } from './errors.ts';

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
