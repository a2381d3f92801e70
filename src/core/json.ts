/** A number that JavaScript would round, kept as it was sent. `JSON.stringify` writes it unchanged (R19). */
export interface ExactNumber {
  readonly rawJSON: string;
}

interface ExactJson {
  parse(text: string, revive: (name: string, value: unknown, context: { readonly source: string }) => unknown): unknown;
  rawJSON(source: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
}

/** The engine has these functions, but TypeScript's library types lack them. */
const EXACT = JSON as unknown as ExactJson;

export const isExactNumber = EXACT.isRawJSON;

/** Whether a value of parsed JSON is an object, and neither an array nor an `ExactNumber`. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExactNumber(value);
}

/** Parses JSON; a number that would be rounded becomes an `ExactNumber` (R19). @throws SyntaxError */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!holdsRounded(text)) return value;
  try {
    return EXACT.parse(text, (_, each, { source }) =>
      typeof each === 'number' && isRounded(source) ? EXACT.rawJSON(source) : each,
    );
  } catch {
    // The text is nested too deeply; its item is rejected anyway (R20).
    return value;
  }
}

/** A value as JSON, with U+FFFD for each unpaired surrogate: most programs refuse JSON that contains one (R19). */
export function toJson(value: unknown): string {
  const json = JSON.stringify(value);
  return json?.includes('\\ud') ? json.replaceAll(SURROGATE_ESCAPE, '$1\uFFFD') : json;
}

/** JSON with U+FFFD for each U+0000, which PostgreSQL cannot hold (R19). */
export function withoutNulEscapes(json: string): string {
  return json.includes('\\u0000') ? json.replaceAll(NUL_ESCAPE, '$1\uFFFD') : json;
}

/** `JSON.stringify` escapes unpaired surrogates only. An even number of backslashes before an escape is literal. */
const SURROGATE_ESCAPE = /(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g;
const NUL_ESCAPE = /(?<!\\)((?:\\\\)*)\\u0000/g;

/** Whether two JSON texts have the same value, ignoring the order of members (R21). */
export function sameJson(a: string, b: string): boolean {
  try {
    return a === b || sameValue(parseExactly(a), parseExactly(b));
  } catch {
    return false;
  }
}

function sameValue(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  if (Array.isArray(a) !== Array.isArray(b) || isExactNumber(a) !== isExactNumber(b)) return false;
  const [members, others] = [a, b] as Readonly<Record<string, unknown>>[] as [JsonMembers, JsonMembers];
  const names = Object.keys(members);
  return (
    names.length === Object.keys(others).length &&
    names.every((name) => Object.hasOwn(others, name) && sameValue(members[name], others[name]))
  );
}

type JsonMembers = Readonly<Record<string, unknown>>;

/** A number with fewer digits is never rounded. */
const LONG = 16;

/**
 * Whether a number in a JSON text would be rounded. It checks every sixteenth character, and its neighbours if that is
 * a digit. It runs for every page: checking each value while parsing would take several times as long as parsing.
 */
function holdsRounded(text: string): boolean {
  let from = 0;
  for (let at = LONG - 1; at < text.length; at += LONG) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let start = at;
    while (start > from && isDigit(text.charCodeAt(start - 1))) start--;
    let end = at + 1;
    while (isDigit(text.charCodeAt(end))) end++;
    if (end - start >= LONG && isRoundedAt(text, start, end)) return true;
    from = end;
    at = end - 1;
  }
  return false;
}

/** Whether the digits from `start` to `end` would be rounded, if they are a number and not part of a string. */
function isRoundedAt(text: string, start: number, end: number): boolean {
  // Most long numbers are short fractions, such as scores.
  if (text.charCodeAt(start + 1) === POINT && end - start <= LONGEST_FRACTION) return false;
  if (!BEFORE.test(text.slice(Math.max(0, start - 2), start))) return false;
  return isRounded(`${text.slice(start, end)}${POWER.exec(text.slice(end, end + MAX_POWER))?.[0] ?? ''}`);
}

/** What may come before the first digit of a value. */
const BEFORE = /(?:^|[:,[\s])-?$/;
const POWER = /^[eE][+-]?\d+/;
const MAX_POWER = 20;

const POINT = 46;

/** A digit or the point. */
function isDigit(code: number): boolean {
  return (code >= 48 && code <= 57) || code === POINT;
}

/** Whether JavaScript reads a number as another value. Up to 17 digits count as exact: other programs write doubles. */
function isRounded(source: string): boolean {
  if (source.length < LONG || isShortFraction(source)) return false;
  const read = String(Number(source));
  return read !== source && decimal(read) !== decimal(source);
}

function isShortFraction(source: string): boolean {
  return source.includes('.') && source.length <= LONGEST_FRACTION + 1 && SHORT_FRACTION.test(source);
}

const LONGEST_FRACTION = '0.12345678901234567'.length;
const SHORT_FRACTION = /^-?(?:\d\.\d{1,17}|[\d.]{1,18})$/;

/** A number's canonical form: digits without zeros at either end, and a power of ten. Null if it is not a number. */
function decimal(source: string): string | null {
  const [, sign, whole = '', fraction = '', power = '0'] = NUMBER.exec(source) ?? [];
  if (sign === undefined) return null;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return end === 0 ? '0' : `${sign}${digits.slice(0, end)}e${Number(power) - fraction.length + digits.length - end}`;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;
