import type { FastifyRequest } from 'fastify';
import { unprocessable } from './errors.ts';
import type { ParsedQuery } from './parameters.ts';
import type { JsonSchema } from './schemas.ts';

const BOOLEANS: Readonly<Record<string, string>> = { true: 'true', '1': 'true', false: 'false', '0': 'false' };

/**
 * Prepares the query for the check by its schema: an unknown parameter is ignored, as newer clients may send it; a boolean may be
 * written as Python does (`True`); a whole number has digits alone. @throws Refusal 422
 */
export function prepareQuery({ query, routeOptions, log }: FastifyRequest): void {
  const properties = (routeOptions.schema?.querystring as JsonSchema | undefined)?.properties;
  if (properties === undefined) return;
  const given = query as Record<string, unknown>;
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(properties, name));
  for (const name of unknown) delete given[name];
  // Not their values, among which a misplaced token might stand.
  if (unknown.length > 0) log.debug({ parameters: unknown.join(' ').slice(0, MOST_LOGGED) }, 'parameters ignored');
  for (const [name, value] of Object.entries(given))
    if (typeof value === 'string') given[name] = prepared(name, value, properties[name]?.['type']);
}

const MOST_LOGGED = 200;

function prepared(name: string, text: string, type: unknown): ParsedQuery[string] {
  if (type === 'integer' && !/^\d{1,15}$/.test(text))
    throw unprocessable(`${name} must be a whole number, written in digits alone`);
  return type === 'boolean' ? (BOOLEANS[text.toLowerCase()] ?? text) : text;
}
