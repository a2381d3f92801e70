import type { FastifyRequest } from 'fastify';
import { didYouMean } from '../core/closest-name.ts';
import { parseInstant } from '../core/time/instant.ts';
import { undecodable, unprocessable } from './errors.ts';
import type { ParsedQuery } from './parameters.ts';
import type { JsonSchema } from './schemas.ts';

const BOOLEANS: Readonly<Record<string, string>> = { true: 'true', '1': 'true', false: 'false', '0': 'false' };

/**
 * Prepares the query for its schema. An unknown parameter is refused: most are filters that are misspelt or written as
 * `ids[]`, and without its filter a list has every row. Booleans may be written as in Python (`True`). Integers must
 * consist of digits.
 * @throws HttpError 400, 422
 */
export function normalizeQuery({ url, query, routeOptions }: FastifyRequest): void {
  const properties = (routeOptions.schema?.querystring as JsonSchema | undefined)?.properties;
  if (properties === undefined) return;
  requireDecodable(url);
  const given = query as Record<string, unknown>;
  for (const [name, value] of Object.entries(given)) {
    const schema = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (schema === undefined) throw unknownParameter(name, Object.keys(properties));
    if (typeof value === 'string') given[name] = normalizeValue(name, value, schema);
    else if (schema['type'] !== 'array') throw unprocessable(`${name} is given more than once: give it once`);
  }
}

/** The parser of queries takes what it cannot decode literally, so a filter in another encoding would match nothing. */
function requireDecodable(url: string): void {
  try {
    decodeURIComponent(url.slice(url.indexOf('?') + 1));
  } catch {
    throw undecodable();
  }
}

const MAX_SHOWN = 100;

function unknownParameter(name: string, known: readonly string[]): Error {
  const word = name.replace(/\[.*/s, '').slice(0, MAX_SHOWN);
  const meant = didYouMean(word.toLowerCase(), known);
  const accepted = known.length === 0 ? ': none is accepted here' : `: use ${known.join(', ')}`;
  return unprocessable(`Unknown parameter ${name.slice(0, MAX_SHOWN).toWellFormed()}${meant || accepted}`);
}

function normalizeValue(name: string, text: string, { type, format }: JsonSchema): ParsedQuery[string] {
  if (type === 'integer' && !/^\d{1,15}$/.test(text))
    throw unprocessable(`${name} must be a whole number: use digits only`);
  if (format === 'date-time' && parseInstant(text) === null && parseInstant(text.replace(/ (?=[\d:]+$)/, '+')) !== null)
    throw unprocessable(`${name} has a space where its time zone begins: send + as %2B`);
  return type === 'boolean' ? (BOOLEANS[text.toLowerCase()] ?? text) : text;
}
