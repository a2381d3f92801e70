import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { MAX_HEADER_BYTES } from '../../src/server/server.ts';
import { parseTokens } from '../../src/server/tokens.ts';
import { blocksOf, nameIn, rowsOf, sectionOf } from './documents.ts';

const DOCUMENT = readFileSync(new URL('../../docs/serve.md', import.meta.url), 'utf8');

/** The command that hashes a token. */
const HASH = DOCUMENT.split('\n').find((line) => line.includes('sha256sum')) ?? '';

const hash = (env: Record<string, string>) =>
  spawnSync('sh', ['-c', HASH], { env: { PATH: process.env['PATH'], ...env }, encoding: 'utf8' });

describe('the token hash command of docs/serve.md', () => {
  test('it produces the hash that the server expects', () => {
    const expected = createHash('sha256').update('a-token').digest('hex');
    expect(hash({ TOKEN: 'a-token' })).toMatchObject({ status: 0, stdout: `${expected}  -\n` });
  });

  test.each<[string, Record<string, string>]>([
    ['not set', {}],
    ['empty', { TOKEN: '' }],
  ])('it produces no hash if the variable is %s', (_, env) => {
    const { status, stdout } = hash(env);
    expect(status).not.toBe(0);
    expect(stdout).toBe('');
  });
});

describe('the nginx settings of docs/serve.md', () => {
  const settings = /```nginx\n([^`]*)```/.exec(DOCUMENT)?.[1] ?? '';

  test('they pass the Date header through, because readers may rely on it', () => {
    expect(settings).toMatch(/^ +proxy_pass_header Date;/m);
  });

  test('they compress responses', () => {
    expect(settings).toMatch(/^ +gzip on;\n +gzip_types application\/json;/m);
  });

  test('they allow the longest address that the server accepts', () => {
    const [, buffer] = /large_client_header_buffers \d+ (\d+)k;/.exec(settings) ?? [];
    expect(Number(buffer) * 1024).toBeGreaterThanOrEqual(MAX_HEADER_BYTES);
  });
});

describe('the token file in docs/serve.md', () => {
  const [example = ''] = blocksOf({ text: DOCUMENT })
    .filter(({ language }) => language === 'json')
    .map(({ text }) => text);

  test('the server accepts the example', () => {
    let count = 0;
    const hashed = example.replaceAll('<64 hex digits>', () => String(count++).padStart(64, '0'));
    expect(parseTokens('tokens.json', hashed)).toHaveLength(count);
  });

  test('the table has exactly the keys that the server knows', () => {
    const refusal = (): unknown => parseTokens('tokens.json', '[{}]');
    expect(refusal).toThrow(/write a JSON array of/);
    const known = [...messageOf(refusal).matchAll(/"(\w+)":/g)].map(([, key]) => key);
    const documented = rowsOf(sectionOf({ text: DOCUMENT }, 'Tokens')).map(([key]) => nameIn(key));
    expect(documented.sort()).toEqual(known.sort());
  });
});

function messageOf(refused: () => unknown): string {
  try {
    refused();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}
