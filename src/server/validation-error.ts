import { unprocessable } from './errors.ts';

/** An error that schema validation found in a request. */
interface SchemaFinding {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string;
}

const WORDS: Readonly<Record<string, (params: SchemaFinding['params']) => string>> = {
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as string[]).join(', ')}`,
  maxItems: ({ limit }) => `accepts at most ${limit} values`,
  format: () => 'must be an ISO 8601 date-time',
};

/** An HTTP error that names the parameter and the values it accepts. */
export function validationError(findings: readonly SchemaFinding[]): Error {
  const [finding] = findings;
  if (finding === undefined) return unprocessable('The request is not valid');
  const { keyword, instancePath, params, message } = finding;
  const name = instancePath.split('/')[1] ?? 'It';
  return unprocessable(`${name} ${WORDS[keyword]?.(params) ?? message ?? 'is not valid'}`);
}
