import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maskToken } from '../../src/source/mask-token.ts';

const TOKEN = 'tok/En+se=cret%41"1\\23&<';
const base64 = (text: string) => Buffer.from(text).toString('base64');
const lowered = (text: string) => text.replaceAll(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());

const FORMS: Readonly<Record<string, (token: string) => string>> = {
  'as it is': (token) => token,
  'percent-encoded': encodeURIComponent,
  'percent-encoded in lower case': (token) => lowered(encodeURIComponent(token)),
  'percent-encoded twice': (token) => encodeURIComponent(encodeURIComponent(token)),
  'percent-encoded where it has to be': encodeURI,
  'encoded as a form': (token) => new URLSearchParams({ '': token }).toString().slice(1),
  'as a JSON string': (token) => JSON.stringify(token).slice(1, -1),
  'as JSON within JSON': (token) => JSON.stringify(JSON.stringify(token)).slice(3, -3),
  'with escaped slashes': (token) => token.replaceAll('/', '\\/'),
  'in \\u escapes': (token) => [...token].map((c) => `\\u00${c.charCodeAt(0).toString(16)}`).join(''),
  'in HTML': (token) => token.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&#34;'),
  'as hexadecimal digits': (token) => Buffer.from(token).toString('hex').toUpperCase(),
  'as base64': base64,
  'as base64url': (token) => Buffer.from(token).toString('base64url'),
  'as base64 of the header': (token) => base64(`Bearer ${token}`),
  'as base64 with a user name': (token) => base64(`me:${token}`),
  'as base64 of a longer text': (token) => base64(`ab${token}, they said`),
  'as base64, percent-encoded': (token) => encodeURIComponent(base64(token)),
};

describe('maskToken', () => {
  test.each(Object.entries(FORMS))('the token is masked %s (R25)', (_, encode) => {
    const masked = maskToken(`said "${encode(TOKEN)}" twice ${encode(TOKEN)}`, TOKEN);
    expect(masked).not.toContain(encode(TOKEN));
    expect(masked.split('[token]').length - 1).toBeGreaterThanOrEqual(2);
    expect(masked).not.toContain(encode(TOKEN).slice(4, 12));
  });

  test('any token is masked in every form (R25)', () => {
    const tokens = fc.string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      minLength: 8,
    });
    fc.assert(
      fc.property(tokens, fc.constantFrom(...Object.values(FORMS)), (token, encode) => {
        expect(maskToken(`x ${encode(token)} y`, token)).not.toContain(encode(token));
      }),
    );
  });

  test('nothing but the token is masked (R25)', () => {
    expect(maskToken('needs the tests view scope', TOKEN)).toBe('needs the tests view scope');
    expect(maskToken(`before ${TOKEN} after`, TOKEN)).toBe('before [token] after');
  });

  test('a long text without the token is masked quickly and stays unchanged (R25)', () => {
    const text = 'QUJD'.repeat(16_384);
    expect(maskToken(text, TOKEN)).toBe(text);
  });
});
