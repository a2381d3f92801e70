import type { PageRequest } from '../core/ports/source.ts';
import { API_PATH } from '../core/read-api.ts';

/**
 * The path of an endpoint, without a query. Every segment is percent-encoded, because ids may contain any character.
 */
export function endpointPath(segments: readonly string[]): string {
  return `${API_PATH}/${segments.map(encodeSegment).join('/')}`;
}

/** The path, query and cursor of a page, relative to the base URL. */
export function pageTarget({ path, query, cursor }: PageRequest): string {
  const parameters = Object.entries(query).flatMap(([name, value]) => [value].flat().map((one) => pair(name, one)));
  if (cursor !== null) parameters.push(pair('cursor', cursor));
  const endpoint = endpointPath(path);
  return parameters.length === 0 ? endpoint : `${endpoint}?${parameters.join('&')}`;
}

/** Servers would resolve a plain `.` or `..` as a step in the path. */
function encodeSegment(segment: string): string {
  const encoded = encode(segment);
  return encoded === '.' || encoded === '..' ? encoded.replaceAll('.', '%2E') : encoded;
}

function pair(name: string, value: string | number): string {
  return `${encode(name)}=${encode(String(value))}`;
}

/** Replaces lone surrogates, which JSON can contain but UTF-8 cannot; encoding them would throw. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}
