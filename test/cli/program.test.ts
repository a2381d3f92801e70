import { chmodSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { EXPORT_FORMATS } from '../../src/export/formats.ts';
import { folder, mirrorFile, obsync, refusal, start, TOKEN } from './setup.ts';

const SYNC = ['sync', '--base-url', 'http://127.0.0.1:1'];
const env = { OBSYNC_TOKEN: TOKEN };

function config(settings: unknown): string {
  const path = join(folder(), 'config.json');
  writeFileSync(path, typeof settings === 'string' ? settings : JSON.stringify(settings));
  return path;
}

describe('a bad command line prints one line, exits 2 and leaves no file behind', () => {
  const USES: [string, string[], RegExp][] = [
    ['no command', [], /no command.*obsync sync/],
    ['an unknown command', ['frobnicate'], /unknown command: frobnicate/],
    ['a command with a typo', ['stauts'], /unknown command: stauts, did you mean status\?/],
    ['a command with a typo behind an option', ['--db', 'm.db', 'snyc'], /unknown command: snyc, did you mean sync\?/],
    ['a command with a typo behind a flag', ['--json', 'snyc'], /unknown command: snyc, did you mean sync\?/],
    ['a flag of another command before it', ['--full', 'status'], /unknown option: --full/],
    ['a flag before the command', ['--no-json', 'status', '--db', 'none.db'], /none\.db does not exist/],
    ['an unknown option', [...SYNC, '--frobnicate'], /unknown option: --frobnicate/],
    ['an option of another command', ['status', '--full'], /unknown.*full/],
    ['a surplus argument', ['status', 'm.db'], /unknown.*m\.db/],
    ['options after --, which npm needs', [...SYNC, '--', '--full'], /unknown argument: --/],
    ['an option given twice', [...SYNC, '--db', 'a', '--db', 'b'], /--db is given more than once: give it once/],
    ['an option without its value', ['status', '--db'], /--db needs a value/],
    ['an empty value', ['status', '--db='], /--db needs a value/],
    ['a flag with a value', [...SYNC, '--full=maybe'], /--full takes no value: leave out/],
    ['an empty number', [...SYNC, '--retries='], /--retries needs a value/],
    ['a config file given twice', [...SYNC, '--config', 'a', '--config', 'b'], /--config is given more than once/],
    ['an unknown short option', ['status', '-x'], /unknown option: -x/],
    ['a query without SQL', ['query'], /query takes one SQL statement/],
    [
      'text instead of a number',
      [...SYNC, '--retries', 'five'],
      /obsync: --retries needs a whole number from 0 to 100$/m,
    ],
    ['a negative number', [...SYNC, '--retries=-1'], /--retries needs a whole number from 0 to 100/],
    ['a negative time', [...SYNC, '--timeout', '-1'], /--timeout needs a number from 0\.001 to 86400/],
    ['a time of zero', [...SYNC, '--timeout', '0'], /--timeout needs a number from 0\.001 to 86400/],
    [
      'alerts as an option',
      [...SYNC, '--alerts', 'x'],
      /unknown option: --alerts: write alerts into the file of --config/,
    ],
    ['an option with a typo', [...SYNC, '--ful'], /unknown option: --ful, did you mean --full\?/],
    ['SQL after an unknown option', ['query', '--json', 'select 1'], /unknown option: --json: write --format json/],
    [
      'two statements',
      ['query', '-f', 'q.sql', 'select 1'],
      /one SQL statement, but one is an argument and one is in q\.sql: remove one of them/,
    ],
    ['a missing file of SQL', ['query', '--file', 'q.sql'], /q\.sql cannot be read/],
    ['a database in memory', [...SYNC, '--db', ':memory:'], /":memory:" is not a file name: pass a path/],
    ['a shell to complete for', ['completion', 'bash'], /completion takes no arguments: it prints/],
    ['an unknown stream among others', [...SYNC, '--stream', 'assets,nothing'], /--stream cannot be "nothing"/],
    ['a number out of range', [...SYNC, '--page-size', '2001'], /--page-size needs a whole number from 1 to 2000/],
    ['a fraction instead of an integer', [...SYNC, '--concurrency', '1.5'], /--concurrency needs a whole number/],
    ['an infinite delay', ['schedule', ...SYNC.slice(1), '--delay', 'Infinity'], /--delay needs a whole number/],
    ['an unknown stream', [...SYNC, '--stream', 'assets', '--stream', 'nothing'], /nothing.*assets/],
    ['a token on the command line', [...SYNC, '--token', 'x'], /unknown.*token: put the token into OBSYNC_TOKEN or/],
    ['no base URL', ['sync'], /--base-url/],
    ['plain http to another machine', ['sync', '--base-url', 'http://api.example.com'], /plain http/],
    ['an invalid base URL', ['sync', '--base-url', 'example'], /is not a URL/],
    [
      'a bad cron expression',
      ['schedule', ...SYNC.slice(1), '--cron', '61 * * * *'],
      /--cron 61 \* \* \* \* is not a cron expression/,
    ],
  ];

  test.each(USES)('%s is refused', async (_, args, line) => {
    const cwd = folder();
    expect(await obsync(args, { cwd, env })).toEqual(refusal(line));
    expect(readdirSync(cwd)).toEqual([]);
  });

  test.each([
    ['no token', {}, /no access token: set OBSYNC_TOKEN/],
    ['an empty token', { OBSYNC_TOKEN: ' ' }, /no access token/],
    [
      'a token that no header can carry',
      { OBSYNC_TOKEN: 'geh\u00e9im' },
      /^(?!.*geh).*characters that an HTTP header cannot carry/,
    ],
    ['a missing token file', { OBSYNC_TOKEN_FILE: 'no-such-file' }, /no-such-file cannot be read/],
    [
      'a bad number in a variable',
      { ...env, OBSYNC_RETRIES: 'five' },
      /OBSYNC_RETRIES: --retries needs a whole number/,
    ],
    ['an unknown stream in a variable', { ...env, OBSYNC_STREAM: 'x' }, /OBSYNC_STREAM: --stream cannot be "x"/],
    ['two tokens', { ...env, OBSYNC_TOKEN_FILE: 'f' }, /two access tokens, .*OBSYNC_TOKEN.*file f: remove one/],
    ['a token with its scheme', { OBSYNC_TOKEN: 'Bearer xyz' }, /OBSYNC_TOKEN .*remove the word Bearer/],
    [
      'neither true nor false in a variable',
      { ...env, OBSYNC_FULL: 'maybe' },
      /OBSYNC_FULL: --full needs true or false/,
    ],
  ])('%s is refused', async (_, variables, line) => {
    const cwd = folder();
    expect(await obsync(SYNC, { cwd, env: variables })).toEqual(refusal(line));
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe('the settings of a command', () => {
  test('a flag overrides a variable, which overrides the config file', async () => {
    const args = ['status', '--config', config({ db: 'from-file.db' })];
    const variable = { OBSYNC_DB: 'from-variable.db' };
    expect(await obsync(args)).toEqual(refusal(/from-file\.db does not exist/));
    expect(await obsync(args, { env: variable })).toEqual(refusal(/from-variable\.db does not exist/));
    expect(await obsync([...args, '--db', 'from-flag.db'], { env: variable })).toEqual(refusal(/from-flag\.db does/));
  });

  test('a variable may name the config file, which may set options of other commands', async () => {
    const file = config({ db: 'from-file.db', fullEvery: 14 });
    expect(await obsync(['status'], { env: { OBSYNC_CONFIG: file } })).toEqual(refusal(/from-file\.db does not exist/));
  });

  test.each(['1', 'true', 'TRUE'])('a variable may say %s for true', async (value) => {
    const { stdout } = await obsync(['status', '--db', mirrorFile()], { env: { OBSYNC_JSON: value } });
    expect(JSON.parse(stdout)).toMatchObject({ base_url: 'https://api.example.com' });
  });

  test.each([
    ['an unknown option', { frobnicate: 1 }, /there is no option frobnicate/],
    ['a token', { token: 'secret' }, /^(?!.*secret).*OBSYNC_TOKEN/],
    [
      'another word than auto',
      { baseUrl: 'http://127.0.0.1:1', fullEvery: 'often' },
      /config\.json: --full-every needs a number of at least 0, or auto/,
    ],
    [
      'text instead of a number',
      { baseUrl: 'http://127.0.0.1:1', retries: 'five' },
      /config\.json: --retries needs a whole number/,
    ],
    ['an invalid base URL', { baseUrl: 'example' }, /config\.json: The base URL is not a URL/],
    ['an option with a typo', { tokenFil: 'f' }, /there is no option tokenFil, did you mean tokenFile\?/],
    ['neither true nor false', { full: 1 }, /config\.json: --full needs true or false/],
    ['a number for a string', { db: 5 }, /config\.json: --db needs a string/],
    ['a list', ['db'], /is not a JSON object/],
    ['text that is not valid JSON', '{db: 1}', /is not valid JSON \(.*line 1 column 2.*\): write/],
  ])('a config file with %s is refused', async (_, settings, line) => {
    const cwd = folder();
    expect(await obsync(['sync', '--config', config(settings)], { cwd, env })).toEqual(refusal(line));
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('a config file may begin with a byte order mark', async () => {
    const { stderr } = await obsync(['status', '--config', config(`\uFEFF${JSON.stringify({ db: 'from-file.db' })}`)]);
    expect(stderr).toMatch(/from-file\.db does not exist/);
  });

  test('a place behind a link that leads nowhere is refused, whether of the mirror or of the token', async () => {
    const cwd = folder();
    symlinkSync('loop', join(cwd, 'loop'));
    for (const command of ['status', 'doctor'])
      expect(await obsync([command, '--db', 'loop'], { cwd })).toEqual(
        refusal(/loop cannot be reached: check the perm/),
      );
    const ended = await obsync([...SYNC, '--token-file', 'loop/token'], { cwd });
    expect(ended).toEqual(refusal(/loop\/token cannot be read: check the path and its permissions/));
  });

  test('a token file in the config file is relative to that file', async () => {
    const where = folder();
    writeFileSync(join(where, 'token'), 'Bearer x', { mode: 0o600 });
    writeFileSync(join(where, 'c.json'), JSON.stringify({ tokenFile: 'token' }));
    const ended = await obsync([...SYNC, '--config', join(where, 'c.json')]);
    expect(ended).toEqual(refusal(/the token file .*\/token begins with Bearer/));
  });

  test('an unknown variable causes a warning', async () => {
    const { code, stderr } = await obsync(['status', '--db', mirrorFile()], { env: { OBSYNC_HISTROY: 'true' } });
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^\[.*Z\] WARN: OBSYNC_HISTROY is ignored: there is no such variable, did you mean OBSYNC_HISTORY\?\n$/,
    );
  });

  test('alerts in a variable cause a warning', async () => {
    const { stderr } = await obsync(['status', '--db', mirrorFile()], { env: { OBSYNC_ALERTS: '{}' } });
    expect(stderr).toMatch(/WARN: OBSYNC_ALERTS is ignored: write alerts into the file of --config\n$/);
  });

  test('a variable that the alerts or an account name causes no warning', async () => {
    const channels = { check: { type: 'ping', urlEnv: 'OBSYNC_PING_URL' } };
    const file = config(JSON.stringify({ alerts: { channels }, db: mirrorFile() }));
    const env = { OBSYNC_PING_URL: 'http://127.0.0.1:1', OBSYNC_CONFIG: file };
    expect(await obsync(['status'], { env })).toMatchObject({ code: 0, stderr: '' });
    const account = { env: { OBSYNC_SHOP_TOKEN: 'x', OBSYNC_DB: 'postgres://nobody@127.0.0.1:1/none' } };
    for (const command of [['accounts', 'list'], ['worker']])
      expect((await obsync(command, account)).stderr).not.toContain('OBSYNC_SHOP_TOKEN');
  });

  test.each([
    [0o644, /^\[.*Z\] WARN: every user of this machine can read the token file .*\nobsync: .*is empty.*\n$/],
    [0o600, /^obsync: .*is empty.*\n$/],
  ])('a token file causes a warning if others may read it: mode %o', async (mode, said) => {
    const file = join(folder(), 'token');
    writeFileSync(file, '');
    chmodSync(file, mode);
    const { code, stderr } = await obsync([...SYNC, '--token-file', file]);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(said) });
  });

  test.each([
    ['the config file', { logLevel: 'debug' }, {}, [], true],
    ['a variable over it', { logLevel: 'debug' }, { OBSYNC_LOG_LEVEL: 'info' }, [], false],
    ['a flag over both', {}, { OBSYNC_LOG_LEVEL: 'info' }, ['--log-level', 'debug'], true],
  ])(
    'the log level decides whether the stack of a failure is printed: %s',
    async (_, file, variables, flags, shown) => {
      const args = [...SYNC, '--retries', '-1', '--config', config(file), ...flags];
      const { stderr } = await obsync(args, { env: { ...env, ...variables } });
      expect(/^ {4}at /m.test(stderr)).toBe(shown);
    },
  );

  test('a missing config file is refused', async () => {
    expect(await obsync(['status', '--config', 'missing.json'])).toEqual(refusal(/missing\.json cannot be read/));
  });
});

describe('the help', () => {
  test('it names the service, every command and the exit codes', async () => {
    const { code, stdout, stderr } = await obsync(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const name of ['sync', 'schedule', 'status', 'query', 'demo']) expect(stdout).toContain(`obsync ${name}`);
    expect(stdout).toContain('the read API of Elementary Cloud');
    expect(stdout).toContain('Exit codes: 0 success');
  });

  test.each([['-h'], ['sync', '-h']])('%s %s prints it too', async (...args) => {
    const { code, stdout } = await obsync(args.filter((word) => word !== undefined));
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('Options:') });
  });

  test('--version and -v print the version', async () => {
    expect(await start(['-v']).ended).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      stderr: '',
    });
  });

  test('help COMMAND prints the help of the command', async () => {
    const help = await obsync(['help', 'sync']);
    expect(help).toEqual(await obsync(['sync', '--help']));
    expect(await obsync(['help'])).toEqual(await obsync(['--help']));
    expect(await obsync(['help', 'snyc'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('unknown command: snyc, did you mean sync?'),
    });
    expect(help).toMatchObject({ code: 0, stderr: '' });
  });

  test('completion prints a script for the shell, which completes commands and options', async () => {
    const script = await obsync(['completion']);
    expect(script).toMatchObject({ code: 0, stdout: expect.stringContaining('--get-yargs-completions'), stderr: '' });
    const completed = async (...words: string[]) =>
      (await obsync(['--get-yargs-completions', 'obsync', ...words])).stdout.split('\n');
    expect(await completed('')).toEqual(expect.arrayContaining(['sync', 'status']));
    expect(await completed('status', '--')).toEqual(expect.arrayContaining(['--max-age', '--json']));
  });

  test('the help of export names every format that it writes', () => {
    const described = COMMANDS.find(({ name }) => name === 'export')?.describe.toLowerCase() ?? '';
    expect(EXPORT_FORMATS.filter((format) => !described.includes(format))).toEqual([]);
  });

  test('the help of sync says which numbers an option accepts, and its default', async () => {
    const stdout = (await obsync(['sync', '--help'])).stdout.replaceAll(/\s+/g, ' ');
    expect(stdout).toMatch(
      /--page-size +rows per request \(whole number from 1 to 2000\)\s+\[number\] \[default: 2000\]/,
    );
    expect(stdout).toContain('(number from 0.001 to 86400)');
    expect(stdout).toContain('(whole number of at least 2)');
  });

  test('the help of schedule says that cron expressions are in UTC', async () => {
    expect((await obsync(['schedule', '--help'])).stdout).toMatch(/cron expressions? .*UTC/);
  });
});
