import type { FastifyRequest } from 'fastify';
import { unprocessable } from './errors.ts';
import type { ParsedQuery } from './parameters.ts';
import type { JsonSchema } from './schemas.ts';

const BOOLEANS: Readonly<Record<string, string>> = { true: 'true', '1': 'true', false: 'false', '0': 'false' };

/**
 * Prepares the query for its schema. Unknown parameters are ignored, because newer clients may send them. Booleans may
 * be written as in Python (`True`). Integers must consist of digits.
 * @throws HttpError 422
 */
export function normalizeQuery({ query, routeOptions, log }: FastifyRequest): void {
  const properties = (routeOptions.schema?.querystring as JsonSchema | undefined)?.properties;
  if (properties === undefined) return;
  const given = query as Record<string, unknown>;
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(properties, name));
  for (const name of unknown) delete given[name];
  // Only the names: a value may be a token sent by mistake.
  if (unknown.length > 0) log.debug({ parameters: unknown.join(' ').slice(0, MAX_LOGGED) }, 'parameters ignored');
  for (const [name, value] of Object.entries(given))
    if (typeof value === 'string') given[name] = normalizeValue(name, value, properties[name]?.['type']);
}

const MAX_LOGGED = 200;

function normalizeValue(name: string, text: string, type: unknown): ParsedQuery[string] {
  if (type === 'integer' && !/^\d{1,15}$/.test(text))
    throw unprocessable(`${name} must be a whole number: use digits only`);
  return type === 'boolean' ? (BOOLEANS[text.toLowerCase()] ?? text) : text;
}
