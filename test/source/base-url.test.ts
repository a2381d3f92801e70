import { describe, expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { parseBaseUrl } from '../../src/source/base-url.ts';

const parse = (text: string) => parseBaseUrl(text, { allowHttp: false });

function refusal(text: string): SyncError | null {
  try {
    parse(text);
    return null;
  } catch (error) {
    return error instanceof SyncError ? error : null;
  }
}

describe('parseBaseUrl', () => {
  test.each([
    ['https://api.example.com', 'https://api.example.com'],
    ['https://api.example.com/', 'https://api.example.com'],
    [' HTTPS://API.example.com:443// ', 'https://api.example.com'],
    ['https://api.example.com/public/beta', 'https://api.example.com'],
    ['https://api.example.com/public/beta/', 'https://api.example.com'],
    ['https://example.com/gateway/public/beta', 'https://example.com/gateway'],
    ['https://example.com/gateway/', 'https://example.com/gateway'],
    ['https://example.com/republic/beta', 'https://example.com/republic/beta'],
  ])('%s is stored as %s', (text, normal) => {
    expect(parse(text)).toBe(normal);
  });

  test.each([
    'api.example.com',
    'localhost:8080',
    '',
    'ftp://api.example.com',
    'file:///etc/passwd',
    'https://user@api.example.com',
    'https://user:secret@api.example.com',
    'https://api.example.com?x=1',
    'https://api.example.com#top',
  ])('%s is refused as bad usage', (text) => {
    expect(refusal(text)?.recovery).toBe('usage');
  });

  test('an error doesn’t repeat a password in the URL (R25)', () => {
    expect(refusal('https://user:secret@api.example.com')?.message).not.toContain('secret');
  });

  test.each(['http://127.0.0.1:8080', 'http://127.8.9.10', 'http://[::1]:8080', 'http://localhost:3000'])(
    'plain HTTP to the loopback address %s is allowed (R25)',
    (text) => {
      expect(parse(text)).toBe(text);
    },
  );

  test.each([
    'http://api.example.com',
    'http://10.0.0.1',
    'http://127.0.0.1.example.com',
    'http://localhost.example.com',
    'http://[::2]',
    'http://128.0.0.1',
  ])('plain HTTP to %s is refused without --allow-http (R25)', (text) => {
    expect(refusal(text)?.recovery).toBe('usage');
    expect(parseBaseUrl(text, { allowHttp: true })).toBe(text);
  });
});
