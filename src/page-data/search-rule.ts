import type { AssetDetail, AssetsFound } from './page-data.ts';

/*
 * One search rule, in SQL for a mirror and in JavaScript for a report. Case is ignored, also beyond ASCII, if both
 * cases are one character: `ü` finds `Ü`, but `ß` does not find `SS`. Letters with a third form, such as the final `ς`,
 * may be found by one implementation only.
 */

export const MAX_FOUND = 50;

type SearchedAsset = AssetsFound['rows'][number] & Pick<AssetDetail, 'qualified_name'>;

/** The text to search for; null if it is empty. */
export const trimmedQuery = (text: string): string | null => text.trim() || null;

/** The rank of a row for `searchPatterns`, NULL without a match: exact matches first, then beginnings of names. */
export const SEARCH_RANK = `case
  when name glob @whole or id glob @whole or qualified_name glob @whole then 0
  when name glob @start then 1
  when name glob @within then 2
  when id glob @within or qualified_name glob @within or path glob @within then 3 end`;

/** A condition that every match meets and few other rows do. LIKE is several times as fast as GLOB. */
export const SEARCH_PREFILTER = ['name', 'id', 'qualified_name', 'path']
  .map((column) => `${column} like @like escape '\\'`)
  .join(' or ');

/** The order within a rank: shortest name first. */
export const SEARCH_ORDER = `length(coalesce(name, '')), coalesce(name, ''), id`;

/** The patterns for a text. LIKE ignores case only in ASCII, so every other character becomes a wildcard. */
export function searchPatterns(text: string) {
  const whole = [...text].map(patternOf).join('');
  const like = text.replaceAll(/[\\%_]/g, '\\$&').replaceAll(/[^\p{ASCII}]/gu, '_');
  return { whole, start: `${whole}*`, within: `*${whole}*`, like: `%${like}%` };
}

function patternOf(character: string): string {
  const forms = new Set([character, character.toLowerCase(), character.toUpperCase()].filter(isOneCharacter));
  return forms.size > 1 || '*?['.includes(character) ? `[${[...forms].join('')}]` : character;
}

const isOneCharacter = (text: string): boolean => [...text].length === 1;

/** The assets that match, best match first, in the same order as in SQL. */
export function searchInMemory(assets: readonly SearchedAsset[], text: string): SearchedAsset[] {
  const wanted = lowerCase(text);
  const found = assets
    .map((asset) => ({ asset, place: searchRank(asset, wanted) }))
    .filter(({ place }) => place !== null);
  return found
    .sort((a, b) => Number(a.place) - Number(b.place) || byLength(a.asset, b.asset) || byName(a.asset, b.asset))
    .map(({ asset }) => asset);
}

function searchRank(asset: SearchedAsset, wanted: string): number | null {
  const [name, id, qualified, path] = [asset.name, asset.id, asset.qualified_name, asset.path].map((text) =>
    lowerCase(text ?? ''),
  );
  if ([name, id, qualified].includes(wanted)) return 0;
  if (name?.startsWith(wanted)) return 1;
  if (name?.includes(wanted)) return 2;
  return [id, qualified, path].some((text) => text?.includes(wanted)) ? 3 : null;
}

function lowerCase(text: string): string {
  const small = (character: string): string => {
    const lower = character.toLowerCase();
    return isOneCharacter(lower) ? lower : character;
  };
  return [...text].map(small).join('');
}

function byLength(a: SearchedAsset, b: SearchedAsset): number {
  return [...(a.name ?? '')].length - [...(b.name ?? '')].length;
}

function byName(a: SearchedAsset, b: SearchedAsset): number {
  const [one, other] = [a.name ?? '', b.name ?? ''];
  return one === other ? (a.id < b.id ? -1 : 1) : one < other ? -1 : 1;
}
