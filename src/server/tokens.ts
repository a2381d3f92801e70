import { Ajv } from 'ajv';
import { type SyncError, usageError } from '../core/errors.ts';
import { VIEW_SCOPES, type ViewScope } from '../streams/endpoint.ts';
import { EMPTY_SHA256, type TokenHash } from './access.ts';

interface TokenEntry {
  readonly name: string;
  readonly token_sha256: string;
  readonly environments?: readonly string[];
  readonly scopes?: readonly ViewScope[];
  readonly asset_ids?: readonly string[];
  readonly paths?: readonly string[];
}

const texts = { type: 'array', items: { type: 'string' } };

/** An unknown member is rejected: a misspelt restriction would otherwise grant everything. */
const validate = new Ajv().compile<readonly TokenEntry[]>({
  type: 'array',
  items: {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1 },
      token_sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
      environments: texts,
      scopes: { type: 'array', items: { enum: VIEW_SCOPES } },
      asset_ids: texts,
      paths: texts,
    },
    required: ['name', 'token_sha256'],
    additionalProperties: false,
  },
});

/** Parses a file of tokens. @throws SyncError `usage` that says what is wrong with the file at `path` */
export function parseTokens(path: string, text: string): TokenHash[] {
  const entries = parseJson(path, text);
  if (!validate(entries)) throw invalidFile(path, explainError(validate.errors?.[0]));
  const empty = entries.find(({ token_sha256 }) => token_sha256 === EMPTY_SHA256);
  if (empty !== undefined)
    throw invalidFile(path, `the token_sha256 of ${empty.name} is the hash of an empty text: hash the token again`);
  for (const member of ['name', 'token_sha256'] as const) {
    const duplicate = entries.find((entry, i) => entries.findIndex((other) => other[member] === entry[member]) < i);
    if (duplicate !== undefined)
      throw invalidFile(path, `two tokens have the same ${member}: change that of ${duplicate.name}`);
  }
  return entries.map(toTokenHash);
}

function toTokenHash({ name, token_sha256, environments, scopes, asset_ids, paths }: TokenEntry): TokenHash {
  return {
    sha256: Buffer.from(token_sha256, 'hex'),
    reader: {
      name,
      environments: environments ? new Set(environments) : null,
      scopes: scopes ? new Set(scopes) : null,
      assetIds: asset_ids ?? null,
      paths: paths ?? null,
    },
  };
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text, and a token written instead of its hash must not be logged.
    throw invalidFile(path, 'it is not JSON');
  }
}

function explainError(error: NonNullable<typeof validate.errors>[number] | undefined): string {
  const { instancePath = '', message = 'it cannot be read', params } = error ?? {};
  const named = params?.['additionalProperty'] ?? params?.['allowedValues'];
  return `${instancePath === '' ? 'it' : instancePath} ${message}${named === undefined ? '' : `: ${named}`}`;
}

function invalidFile(path: string, what: string): SyncError {
  return usageError(
    `${path}: ${what}; write a JSON array of {"name": …, "token_sha256": …, "environments": […], "scopes": […], "asset_ids": […], "paths": […]}`,
  );
}
