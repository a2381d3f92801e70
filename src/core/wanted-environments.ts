import type { ListedEnvironment } from './environments.ts';
import { SyncError } from './errors.ts';

/**
 * The environments asked for, each by its id or name, or several separated by commas; all when none is asked for. A name may
 * hold a comma: what is one as a whole is not taken apart.
 */
export function wantedOf(
  listed: readonly ListedEnvironment[],
  asked: readonly string[],
): { readonly chosen: readonly ListedEnvironment[]; readonly unknown: readonly string[] } {
  if (asked.length === 0) return { chosen: listed, unknown: [] };
  const known = new Set(listed.flatMap(({ id, name }) => [id, name]));
  const names = new Set(
    asked.flatMap((text) => (known.has(text) ? [text] : text.split(',').map((part) => part.trim()))),
  );
  return {
    chosen: listed.filter(({ id, name }) => names.has(id) || names.has(name)),
    unknown: [...names].filter((name) => !known.has(name)),
  };
}

/** Names told of in one line. */
const MOST_NAMES = 20;

/** What tells who asked for an environment that is not listed what there is. */
export function noSuchEnvironment(unknown: readonly string[], listed: readonly ListedEnvironment[]): SyncError {
  const names = listed.slice(0, MOST_NAMES).map(({ id, name }) => (id === name ? id : `${id} (${name})`));
  const more = listed.length > MOST_NAMES ? ` and ${listed.length - MOST_NAMES} more` : '';
  return new SyncError(
    'usage',
    `no environment ${unknown.join(', ')}: the token sees ${names.join(', ') || 'none'}${more}`,
  );
}
