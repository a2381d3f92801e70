/** Shorter parts of a base64 text could occur by chance. */
const LEAST_BASE64 = 6;

/**
 * Replaces the token with `[token]` in a text of the service (R25). Finds it as it is, percent-encoded (once or twice),
 * escaped as in JSON or HTML, in hexadecimal digits, and in base64 of a text that contains it.
 */
export function maskToken(text: string, token: string): string {
  return forms(token).reduce((masked, form) => masked.replaceAll(form, '[token]'), text);
}

function forms(token: string): RegExp[] {
  const bytes = Buffer.from(token);
  return [
    new RegExp([...token].map(encoded).join(''), 'gu'),
    new RegExp(bytes.toString('hex'), 'giu'),
    ...[0, 1, 2].flatMap((offset) => base64Form(bytes, offset)),
  ];
}

/** A pattern for one character in all its spellings. */
function encoded(character: string): string {
  const code = character.charCodeAt(0);
  const hex = [...code.toString(16).padStart(2, '0')].map((digit) => `[${digit}${digit.toUpperCase()}]`).join('');
  const entity = ENTITIES[character];
  const spellings = [
    `\\\\{0,3}\\x${code.toString(16).padStart(2, '0')}`,
    `%(?:25){0,2}${hex}`,
    `\\\\{1,3}u00${hex}`,
    `&#0{0,4}${code};`,
    `&#[xX]0{0,4}${hex};`,
    ...(entity === undefined ? [] : [`&${entity};`]),
  ];
  return `(?:${spellings.join('|')})`;
}

const ENTITIES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };

/** The part of a base64 text that depends only on the token, if `offset` bytes precede it in a group of three. */
function base64Form(bytes: Buffer, offset: number): RegExp[] {
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '');
  const from = [0, 2, 3][offset] ?? 0;
  const isWhole = (offset + bytes.length) % 3 === 0;
  const inner = text.slice(from, isWhole ? undefined : -1);
  if (inner.length < LEAST_BASE64) return [];
  const letters = [...inner].map(letter).join('');
  // The letters at both ends also carry bits of the token.
  return [new RegExp(`[A-Za-z0-9+/_-]{0,3}${letters}[A-Za-z0-9+/_-]{0,3}={0,2}`, 'gu')];
}

/** A pattern for one letter of both base64 alphabets. */
function letter(character: string): string {
  if (character === '+') return `(?:${encoded('+')}|-)`;
  return character === '/' ? `(?:${encoded('/')}|_)` : character;
}
