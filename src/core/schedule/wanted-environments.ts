import { SyncError, usageError } from '../errors.ts';
import type { ListedEnvironment } from './environments.ts';

/**
 * The environments requested by id or name, possibly several separated by commas; all if none is requested. A name may
 * contain a comma: text that is a whole name is not split.
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

/** The most names that an error lists. */
const MAX_NAMES = 20;

/** The error for an environment that is not listed; it names those that are. */
export function noSuchEnvironment(unknown: readonly string[], listed: readonly ListedEnvironment[]): SyncError {
  const names = listed.slice(0, MAX_NAMES).map(({ id, name }) => (id === name ? id : `${id} (${name})`));
  const more = listed.length > MAX_NAMES ? ` and ${listed.length - MAX_NAMES} more` : '';
  return usageError(`no environment ${unknown.join(', ')}: the token sees ${names.join(', ') || 'none'}${more}`);
}

/** The environments to read. @throws SyncError `usage` if a requested one is not listed, `run` if none is listed */
export function chooseEnvironments(
  listed: readonly ListedEnvironment[],
  asked: readonly string[],
): readonly ListedEnvironment[] {
  const error = environmentsError(listed, asked);
  if (error !== null) throw error;
  return wantedOf(listed, asked).chosen;
}

/** What is wrong with the listed environments; null if all requested ones are among them. */
export function environmentsError(
  listed: readonly ListedEnvironment[],
  asked: readonly string[] = [],
): SyncError | null {
  const { unknown } = wantedOf(listed, asked);
  if (unknown.length > 0) return noSuchEnvironment(unknown, listed);
  return listed.length > 0 ? null : new SyncError('run', 'the token sees no environment: check its permissions');
}
