import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { SyncError } from '../../src/core/errors.ts';
import { identify, rootToken } from '../../src/server/access.ts';
import { parseTokens } from '../../src/server/tokens.ts';

const FILE = '/etc/obsync/tokens.json';
const hash = (token: string) => createHash('sha256').update(token).digest('hex');
const ANN = { name: 'ann', token_sha256: hash('secret of ann') };

const parse = (entries: unknown) => parseTokens(FILE, JSON.stringify(entries));

describe('a tokens file', () => {
  test('a token without restrictions may see everything', () => {
    const [key] = parse([ANN]);
    expect(key?.reader).toEqual({ name: 'ann', environments: null, scopes: null, assetIds: null, paths: null });
  });

  test('a token is restricted to the listed values, and an empty list allows nothing', () => {
    const limits = { environments: ['e', 'f'], scopes: ['tests'], asset_ids: ['a/b', 'ü'], paths: ['team/x'] };
    const none = { environments: [], scopes: [], asset_ids: [], paths: [] };
    const [some, nothing] = parse([
      { ...ANN, ...limits },
      { name: 'bob', token_sha256: hash('b'), ...none },
    ]);
    expect(some?.reader).toEqual({
      name: 'ann',
      environments: new Set(['e', 'f']),
      scopes: new Set(['tests']),
      assetIds: ['a/b', 'ü'],
      paths: ['team/x'],
    });
    expect(nothing?.reader).toEqual({
      name: 'bob',
      environments: new Set(),
      scopes: new Set(),
      assetIds: [],
      paths: [],
    });
  });

  test('a file without tokens accepts no token', () => {
    expect(parse([])).toEqual([]);
  });

  test('the hashes are those of the tokens without a line break', () => {
    const keys = parse([ANN, { name: 'bob', token_sha256: hash('secret of bob') }]);
    expect(identify(keys, 'Bearer secret of bob')).toBeNull();
    const [bare] = parse([{ name: 'cy', token_sha256: hash('cy-token') }]);
    expect(identify([...keys, ...(bare ? [bare] : [])], 'Bearer cy-token')?.name).toBe('cy');
    expect(identify(keys, `Bearer ${ANN.token_sha256}`)).toBeNull();
  });

  test.each<[what: string, text: string, said: RegExp]>([
    ['is empty', '', /it is not JSON/],
    ['is not JSON', '[{"name": "ann",}]', /it is not JSON/],
    ['is JSON in lines', `${JSON.stringify(ANN)}\n${JSON.stringify(ANN)}`, /it is not JSON/],
    ['is null', 'null', /it must be array/],
    ['is one object and no array', JSON.stringify(ANN), /it must be array/],
    ['maps names to hashes', JSON.stringify({ ann: ANN.token_sha256 }), /it must be array/],
    ['contains something other than an object', '["secret"]', /\/0 must be object/],
    ['contains null', JSON.stringify([ANN, null]), /\/1 must be object/],
    ['lacks a name', JSON.stringify([{ token_sha256: hash('x') }]), /\/0 must have required property 'name'/],
    ['has an empty name', JSON.stringify([{ ...ANN, name: '' }]), /\/0\/name must NOT have fewer than 1 char/],
    ['has a number for a name', JSON.stringify([{ ...ANN, name: 1 }]), /\/0\/name must be string/],
    ['lacks a hash', '[{"name":"ann"}]', /\/0 must have required property 'token_sha256'/],
    ['has a null for a hash', '[{"name":"ann","token_sha256":null}]', /\/0\/token_sha256 must be string/],
    ['has the token for a hash', '[{"name":"ann","token_sha256":"secret"}]', /\/0\/token_sha256 must match/],
    [
      'has a hash in upper case',
      JSON.stringify([{ ...ANN, token_sha256: hash('x').toUpperCase() }]),
      /\/0\/token_sha256 must match/,
    ],
    [
      'has a hash that is too short',
      JSON.stringify([{ ...ANN, token_sha256: hash('x').slice(1) }]),
      /\/0\/token_sha256 must match/,
    ],
    [
      'has a hash with a line end',
      JSON.stringify([{ ...ANN, token_sha256: `${hash('x')}\n` }]),
      /\/0\/token_sha256 must match/,
    ],
    ['misspells a restriction', JSON.stringify([{ ...ANN, environment: ['e'] }]), /\/0 .*: environment/],
    ['contains the token itself', JSON.stringify([{ ...ANN, token: 'secret' }]), /\/0 .*: token/],
    ['has one text for a list', JSON.stringify([{ ...ANN, paths: 'team' }]), /\/0\/paths must be array/],
    ['has null for a list', JSON.stringify([{ ...ANN, asset_ids: null }]), /\/0\/asset_ids must be array/],
    ['has numbers for ids', JSON.stringify([{ ...ANN, asset_ids: [7] }]), /\/0\/asset_ids\/0 must be string/],
    [
      'has an object in a list',
      JSON.stringify([{ ...ANN, environments: [{}] }]),
      /\/0\/environments\/0 must be string/,
    ],
    ['names an unknown scope', JSON.stringify([{ ...ANN, scopes: ['asset'] }]), /\/0\/scopes\/0 must be equal to one/],
    [
      'has the hash of an empty text',
      JSON.stringify([ANN, { name: 'bob', token_sha256: hash('') }]),
      /bob is the hash of an empty text/,
    ],
    ['has one name twice', JSON.stringify([ANN, { ...ANN, token_sha256: hash('x') }]), /same name: change that of ann/],
    ['has one hash twice', JSON.stringify([ANN, { ...ANN, name: 'bob' }]), /same token_sha256: change that of bob/],
  ])('a file that %s is one clear usage error', (_, text, said) => {
    const error = errorOf(() => parseTokens(FILE, text));
    expect(error).toBeInstanceOf(SyncError);
    expect(error).toMatchObject({ recovery: 'usage', message: expect.stringMatching(said) });
    expect(String(error.message).split('\n')).toHaveLength(1);
    expect(error.message.startsWith(`${FILE}: `)).toBe(true);
    expect(error.message).toContain('write a JSON array of {"name"');
    expect(error.message).not.toMatch(/secret|[0-9a-f]{63}/i);
  });
});

describe('the owner of a request’s token', () => {
  const keys = [rootToken('one', 'first'), rootToken('two', 'second')];

  test.each([
    ['Bearer first', 'one'],
    ['bearer second', 'two'],
    ['BEARER   second  ', 'two'],
    ['Bearer third', null],
    ['Bearer First', null],
    ['Bearer first second', null],
    ['Bearer first,second', null],
    ['Bearer', null],
    ['Bearer ', null],
    ['Basic first', null],
    ['first', null],
    ['', null],
    [undefined, null],
  ])('the header %j is checked against the known tokens', (header, name) => {
    expect(identify(keys, header)?.name ?? null).toBe(name);
  });

  test('an empty token has no owner', () => {
    expect(identify([], 'Bearer ')).toBeNull();
    expect(identify([], undefined)).toBeNull();
  });

  test('a request without a token has no owner, even if the file has the hash of an empty text', () => {
    for (const header of [undefined, '', 'Bearer', 'Bearer ', 'Basic x'])
      expect(identify([rootToken('nobody', '')], header)).toBeNull();
  });
});

function errorOf(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
}
