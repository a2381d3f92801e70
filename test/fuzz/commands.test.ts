import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import type { LogSettings } from '../../src/cli/command.ts';
import { createLog } from '../../src/cli/log.ts';
import { main } from '../../src/cli/program.ts';
import { STREAM_NAMES } from '../../src/streams/catalogue.ts';
import { CollectedOutput, type Ended, folder, inPlace, mirrorFile, obsync, TOKEN, testIo } from '../cli/setup.ts';
import { oddValues, rarely } from './garble.ts';
import { LONG, tries } from './runs.ts';

/** The options of every command, read from its help, so new commands are covered automatically. */
const commands = new Map<string, readonly string[]>();
const place = { mirror: '', cwd: '' };

/** No server listens there. */
const AWAY = 'http://127.0.0.1:1';

beforeAll(async () => {
  place.mirror = mirrorFile(({ connection }) => void connection.exec(`update mirror set base_url = '${AWAY}'`));
  place.cwd = folder();
  mkdirSync(join(place.cwd, 'directory'));
  writeFileSync(join(place.cwd, 'garbage'), 'SQLite format 3\u0000 and no more');
  writeFileSync(join(place.cwd, 'token'), `${TOKEN}\n`);
  writeFileSync(join(place.cwd, 'tokens.json'), '[]');
  const help = async (...words: string[]): Promise<string> => (await obsync([...words, '--help'])).stdout;
  for (const [, name = ''] of (await help()).matchAll(/^ +obsync ([a-z]+)/gm)) {
    const options = [...(await help(name)).matchAll(/--([a-z][a-z-]*)/g)].map(([, option = '']) => option);
    commands.set(
      name,
      [...new Set(options)].filter((option) => !['help', 'version', 'config'].includes(option)),
    );
  }
});

const NUMBERS = [
  '0',
  '1',
  '2',
  '3600',
  '-1',
  '1.5',
  '1e3',
  '1e400',
  'NaN',
  'Infinity',
  '0x10',
  '٣',
  ' 7',
  '9'.repeat(30),
];
const JUNK = [
  '',
  ' ',
  'x',
  '\n',
  'a\nb',
  '\u0000',
  '-',
  '--',
  '--json',
  '[]',
  '{}',
  'null',
  'true',
  'é',
  '\u001b[31m',
  'x'.repeat(9999),
];
const FILES = [
  'garbage',
  'directory',
  'missing.db',
  'token',
  'tokens.json',
  'no/such/folder',
  '/dev/null',
  '\u0000',
  'line\nbreak',
];
const CRONS = ['* * * * *', '61 * * * *', '@yearly', '0 0 30 2 *', '* * *', '*/0 * * * *'];
const URLS = ['http://127.0.0.1:1', 'http://localhost:1/public/beta/', 'http://[::1]:1/x', 'https://127.0.0.1:1?y#z'];
const BAD_URLS = [
  'http://user:pw@127.0.0.1:1',
  'ftp://127.0.0.1',
  'http://127.0.0.1:99999',
  'http://',
  'x',
  'http://999.1.1.1',
];

/**
 * Values that are probably accepted, or nearly so. None makes a command wait long or leave loopback.
 */
const POOLS: Readonly<Record<string, readonly string[]>> = {
  'base-url': [...URLS, ...URLS, ...BAD_URLS],
  retries: ['0', '0', '0', '-1', '101', '1.5', 'five'],
  stream: [...STREAM_NAMES, 'nothing', 'assets,tests', '__proto__'],
  cron: CRONS,
  'log-level': ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'loud'],
  'rate-limit': ['off', '120/1m', '0/1m', '1/0s', '10/1s', '999999999999/1h'],
  'dimension-weights': ['completeness=2', 'x=1e999', 'a=-1', '=', 'a=1,a=2', '__proto__=1'],
  format: ['csv', 'json', 'ndjson', 'table', 'xml'],
  depth: ['count', 'ids', 'rows', 'all'],
  host: ['127.0.0.1', 'nowhere.invalid'],
};
const STATEMENTS = [
  'select 1',
  'select * from assets',
  'select',
  "'",
  "select '\n",
  'select 1; select 2',
  'select :a',
  '-- a\nselect 2',
].concat([
  'delete from assets',
  'vacuum into "v.db"',
  "attach 'a.db' as a",
  'pragma user_version',
  'with',
  '',
  "select json('{')",
]);

function valuesOf(option: string): fc.Arbitrary<string> {
  const pool = POOLS[option];
  if (pool !== undefined) return fc.constantFrom(...pool);
  if (['db', 'token-file', 'tokens', 'config'].includes(option)) return fc.constantFrom('MIRROR', 'MIRROR', ...FILES);
  return fc.oneof(fc.constantFrom(...NUMBERS, ...NUMBERS, ...JUNK), fc.string({ maxLength: 8 }));
}

interface Given {
  readonly option: string;
  readonly value: string;
  readonly as: 'flag' | 'bare' | 'joined' | 'variable' | 'file';
  readonly odd: unknown;
}

/** One invocation of the program. */
interface Use {
  readonly command: number;
  /** Indexes of the command's own options. */
  readonly given: readonly (readonly [number, Given['as'], number, unknown])[];
  readonly stray: string | null;
  readonly statement: string;
  readonly token: string | null;
  readonly debug: boolean;
  readonly fileText: string | null;
  readonly prepared: boolean;
}

const uses: fc.Arbitrary<Use> = fc.record({
  command: fc.nat(40),
  given: fc.array(
    fc.tuple(
      fc.nat(60),
      fc.constantFrom<Given['as'][]>('flag', 'flag', 'bare', 'joined', 'variable', 'variable', 'file'),
      fc.nat(100_000),
      fc.oneof(fc.constant(undefined), oddValues),
    ),
    { maxLength: 4 },
  ),
  stray: rarely(
    fc.oneof(
      fc.constantFrom(
        '--frobnicate',
        '--help',
        '--version',
        '-x',
        '--__proto__',
        '--_',
        '--$0=1',
        '--',
        'stray',
        ...JUNK,
      ),
      fc.string(),
    ),
  ),
  statement: fc.oneof(fc.constantFrom(...STATEMENTS), fc.string()),
  token: fc.oneof(
    { weight: 8, arbitrary: fc.constant(TOKEN) },
    { weight: 1, arbitrary: fc.constantFrom('', ' ', 'two words', 'tökén', `${TOKEN}\n`) },
    { weight: 1, arbitrary: fc.constant(null) },
  ),
  debug: fc.boolean(),
  fileText: rarely(
    fc.oneof(
      fc.json(),
      fc.constantFrom('{"__proto__":{"db":1}}', '[', '', '{"a\\nb":1}', '{"token":"t"}', '['.repeat(100_000)),
      fc.string(),
    ),
  ),
  prepared: fc.boolean(),
});

/** The arguments, variables and config file of an invocation. */
function spell(use: Use): { name: string; words: string[]; env: Record<string, string>; file: string | null } {
  const [name = '', options = []] = [...commands][use.command % commands.size] ?? [];
  const all = use.given.map(([nth, as, seed, odd]): Given => {
    const option = options[nth % options.length] ?? 'db';
    const [drawn = ''] = fc.sample(valuesOf(option), { seed, numRuns: 1 });
    return { option, value: drawn === 'MIRROR' ? place.mirror : drawn, as, odd };
  });
  const words = [name, ...(name === 'query' ? [use.statement] : [])];
  const env: Record<string, string> = use.token === null ? {} : { OBSYNC_TOKEN: use.token };
  const members: [string, unknown][] = [];
  if (use.prepared) prepare(options, all, words);
  for (const { option, value, as, odd } of all) {
    const plain = value.replaceAll('\u0000', '');
    if (as === 'flag') words.push(`--${option}`, value);
    else if (as === 'bare') words.push(`--${option}`);
    else if (as === 'joined') words.push(`--${option}=${value}`);
    else if (as === 'variable') env[`OBSYNC_${option.replaceAll('-', '_').toUpperCase()}`] = plain;
    else members.push([option.replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase()), odd ?? value]);
  }
  // No invocation may wait for another.
  if (options.includes('retries') && !all.some(({ option }) => option === 'retries')) words.push('--retries=0');
  // A demo that is not refused would run to its end.
  if (name === 'demo') words.push('--frobnicate');
  if (use.stray !== null) words.push(use.stray);
  if (use.debug) env['OBSYNC_LOG_LEVEL'] ??= 'debug';
  const file = use.fileText ?? (members.length > 0 ? JSON.stringify(Object.fromEntries(members)) : null);
  if (file !== null) words.push('--config', 'config.json');
  return { name, words, env, file };
}

/** Arguments that pass the first checks. */
function prepare(options: readonly string[], all: readonly Given[], words: string[]): void {
  const missing = (option: string): boolean =>
    options.includes(option) && !all.some((given) => given.option === option);
  if (missing('base-url')) words.push('--base-url', AWAY);
  if (missing('db')) words.push('--db', place.mirror);
}

const CODES = [0, 1, 2, 3, 4, 5];

const MAKES_A_MIRROR: ReadonlySet<string> = new Set(['migrate', 'copy']);

function removeAllBut(kept: readonly string[]): void {
  for (const name of readdirSync(place.cwd))
    if (!kept.includes(name)) rmSync(join(place.cwd, name), { recursive: true });
}

interface Ran extends Ended {
  /** Stderr has everything else. */
  readonly log: string;
}

/** Runs a command line in this process. A schedule gets SIGTERM once it listens. */
async function run({ name, words, env }: ReturnType<typeof spell>): Promise<Ran> {
  const log = new CollectedOutput();
  const io = { ...testIo(env), log: async (settings: LogSettings) => createLog(settings, log) };
  const before = process.listeners('SIGTERM');
  const running = inPlace({ cwd: place.cwd, env }, () => main(words, io));
  let isEnded = false;
  const ended = running.finally(() => {
    isEnded = true;
  });
  while (name === 'schedule' && !isEnded) {
    for (const listener of process.listeners('SIGTERM')) if (!before.includes(listener)) listener('SIGTERM');
    await turn();
  }
  return { code: await ended, stdout: io.stdout.text, stderr: io.stderr.text, log: log.text };
}

function expectClean({ code, stdout, stderr, log }: Ran, { name, ...given }: ReturnType<typeof spell>): void {
  expect(name === 'schedule' ? [...CODES, 143] : CODES).toContain(code);
  expect(`${stdout}${stderr}${log}`).not.toContain(TOKEN);
  // At `debug`, the stack of the error follows its message.
  const [said = ''] = stderr.split(/^(?=(?:\w+ \[)?SyncError\b)/m);
  if (!/debug|trace/.test(JSON.stringify(given))) expect(stderr).toBe(said);
  const messages = said.split('\n').filter((line) => line.startsWith('obsync: '));
  // The report of `doctor` says what is wrong.
  const isReported = name === 'doctor' && code !== 2;
  if (code !== 0 && code !== 143) expect(messages).toHaveLength(isReported ? 0 : 1);
  if (code === 2) expect([stdout, said]).toEqual(['', `${messages[0]}\n`]);
  expect(said).not.toMatch(/^\s+at /m);
}

test(
  'any arguments, variables and config file end in an exit code and one clear line, never a stack trace (R25)',
  LONG,
  async () => {
    expect([...commands.keys()]).toEqual(
      expect.arrayContaining(['sync', 'schedule', 'status', 'query', 'serve', 'demo']),
    );
    await fc.assert(
      fc.asyncProperty(uses, async (use) => {
        const spelt = spell(use);
        const config = join(place.cwd, 'config.json');
        if (spelt.file === null) rmSync(config, { force: true });
        else writeFileSync(config, spelt.file);
        const before = readdirSync(place.cwd);
        const ran = await run(spelt);
        expectClean(ran, spelt);
        if (ran.code === 0 && MAKES_A_MIRROR.has(spelt.name)) removeAllBut(before);
        expect(readdirSync(place.cwd)).toEqual(before);
      }),
      tries(100),
    );
  },
);
