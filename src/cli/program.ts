import { inspect } from 'node:util';
import yargs, { type Arguments, type Argv, type Options as YargsOption } from 'yargs';
import { SyncError } from '../core/errors.ts';
import { warningsOfAddresses } from '../settings/addresses/mirror-address.ts';
import { OptionError } from '../settings/option-error.ts';
import { flagOf } from '../settings/options.ts';
import { readTextFile } from '../settings/read-text-file.ts';
import { isReadByAll } from '../settings/token.ts';
import { checkMirror } from './check-mirror.ts';
import type { CliCommand, CommandIo } from './command.ts';
import { COMMANDS } from './commands.ts';
import { exitCodeOf } from './exit-code.ts';
import { OPTIONS, STDIN } from './options.ts';
import { printFailure } from './print-failure.ts';
import { flagValue, hint, keyOf, type SettingsByFlag, settingsOf, unknownVariables } from './settings.ts';
import { version } from './version.ts';
import { withoutPasswords } from './without-passwords.ts';

/** The commands that the command line names; all commands when it names none. */
function commandsIn(argv: readonly string[]): readonly CliCommand[] {
  const named = COMMANDS.filter(({ name }) => argv.includes(name));
  return named.length > 0 ? named : COMMANDS;
}

const EXIT_CODES = `Exit codes: 0 success (verify: equal); 1 finished with problems (verify: not equal, or not known); 2 bad usage or configuration; 3 token refused; \
4 another sync has locked the mirror; 5 stopped by --max-requests; 130 and 143 on signals.

Every option can also be set by an environment variable (OBSYNC_FULL_EVERY for --full-every) or in the JSON file that \
--config names (fullEvery). A flag overrides a variable, and a variable overrides the file. The token of the service \
comes only from OBSYNC_TOKEN or from the file that --token-file names. The tokens that a server accepts come from \
OBSYNC_SERVE_TOKEN and from the file that --tokens names.`;

/** Runs one command line. Every error ends here. @returns the exit code */
export async function main(args: readonly string[]): Promise<number> {
  const argv = args.map(shielded);
  const io = processIo();
  process.stdout.on('error', endOutput);
  // stderr fails when the disk is full or its reader has gone. That changes nothing else.
  process.stderr.on('error', () => {});
  let code = 0;
  let settingsByFlag: SettingsByFlag = new Map();
  try {
    // The parser would silently ignore everything after it.
    if (argv.includes('--')) throw new SyncError('usage', 'unknown argument: -- (see obsync --help)');
    settingsByFlag = settingsOf(argv, io.env);
    const commands = commandsIn(argv);
    const parser = commands.reduce(
      (parser, command) =>
        add(parser, command, { argv, settings: settingsByFlag }, async (args) => {
          await warn(args, io);
          code = await command.run(args, io);
        }),
      base({ argv, settings: settingsByFlag, commands }),
    );
    await parser.parseAsync();
    return code;
  } catch (error) {
    return report(located(error, argv, settingsByFlag), logLevelOf(argv, settingsByFlag, io.env));
  }
}

/** An SQL statement may start with a comment (`-- …`). Only its white space distinguishes it from a flag. */
function shielded(word: string): string {
  // The parser would read it as an empty string.
  if (word === STDIN) return ` ${word}`;
  return /^--[^=]*\s/.test(word) ? ` ${word}` : word;
}

/** Options without a value: the word after one of them may be the command. Each command declares which of them it accepts. */
const FLAGS: Readonly<Record<string, YargsOption>> = Object.fromEntries(
  Object.entries(OPTIONS)
    .filter(([, { type }]) => type === 'boolean')
    .map(([name]) => [name, { type: 'boolean', global: false, hidden: true }]),
);

interface ParsedLine {
  readonly argv: readonly string[];
  readonly settings: SettingsByFlag;
  readonly commands: readonly CliCommand[];
}

function base(parsedLine: ParsedLine): Argv {
  const { argv } = parsedLine;
  return yargs([...argv])
    .scriptName('obsync')
    .usage(
      '$0 <command> [options]\n\nMirrors a data-observability service into a local SQLite file and keeps it up to date.',
    )
    .locale('en')
    .version(version())
    .alias({ help: 'h', version: 'v' })
    .parserConfiguration({ 'greedy-arrays': false, 'dot-notation': false, 'camel-case-expansion': false })
    .options(FLAGS)
    .strict()
    .demandCommand(1, 'no command: try obsync sync')
    .recommendCommands()
    .epilogue(EXIT_CODES)
    .wrap(Math.min(120, process.stdout.columns || 100))
    .exitProcess(false)
    .showHelpOnFail(false)
    .fail((message: string | null, error: Error | undefined) => {
      if (error !== undefined && error.name !== 'YError') throw error;
      throw explained(plain(error?.message ?? message ?? 'bad usage'), parsedLine);
    });
}

/** What yargs found wrong, with the place where it was given or a suggestion. */
function explained(message: string, { argv, settings, commands }: ParsedLine): SyncError {
  const option = /^--([a-z-]+) cannot be/.exec(message)?.[1];
  if (option !== undefined) return located(new OptionError(keyOf(option), message), argv, settings) as SyncError;
  const [, unknown] = /^unknown arguments?: ([^\s,]+)/.exec(message) ?? [];
  if (message.startsWith('did you mean')) {
    const command = argv.find((word, i) => !word.startsWith('-') && !takesValue(argv[i - 1] ?? ''));
    return new SyncError('usage', `unknown command: ${command}, ${message} (see obsync --help)`);
  }
  if (unknown === undefined || !isFlagged(unknown, argv))
    return new SyncError('usage', `${message} (see obsync --help)`);
  const options = commands.find(({ name }) => argv.includes(name))?.options ?? {};
  return new SyncError(
    'usage',
    `unknown option: --${unknown}${hint(unknown, Object.keys(options), '--')} (see obsync --help)`,
  );
}

/** Whether a word is an option whose value is the next word. */
function takesValue(word: string): boolean {
  return word.startsWith('-') && !word.includes('=') && !(word.replace(/^--(no-)?/, '') in FLAGS);
}

/** Adds to an option's error the variable or file that the value came from. */
function located(error: unknown, argv: readonly string[], settingsByFlag: SettingsByFlag): unknown {
  if (!(error instanceof OptionError) || isFlagged(flagOf(error.option), argv)) return error;
  const from = settingsByFlag.get(flagOf(error.option))?.from;
  return from === undefined ? error : new SyncError(error.recovery, `${from}: ${error.message}`, { cause: error });
}

function isFlagged(name: string, argv: readonly string[]): boolean {
  return argv.some((word) => word === `--${name}` || word.startsWith(`--${name}=`));
}

/** Options that name a file with a secret in it, and what it is. */
const SECRET_FILES = { 'token-file': 'the token file', 'db-file': 'the address file' } as const;

/** Warns of settings that are valid but probably a mistake. */
async function warn(args: Arguments, commandIo: CommandIo): Promise<void> {
  const open = Object.entries(SECRET_FILES).flatMap(([name, what]) => {
    const path = args[name];
    if (typeof path !== 'string' || !isReadByAll(path)) return [];
    return [`every user of this machine can read ${what} ${path}: make it readable by its owner only (chmod 600)`];
  });
  const warnings = [
    ...unknownVariables(commandIo.env),
    ...open,
    ...warningsOfAddresses(addressesIn(args), commandIo.env),
  ];
  if (warnings.length === 0) return;
  const log = await commandIo.log((args['log-level'] as string | undefined) ?? 'warn');
  for (const each of warnings) log.warn(each);
}

/** The addresses of mirrors, and of what else `--to` may name. @throws SyncError `usage` if the file of one cannot be read */
function addressesIn(args: Arguments): string[] {
  const file = args['db-file'];
  const given = [typeof file === 'string' ? readTextFile(file).trim() : args['db'], args['to']];
  return given.filter((each) => typeof each === 'string');
}

/** The message of yargs on one line; it names the option as the user writes it. */
function plain(message: string): string {
  const line = message
    .replaceAll(/\n\s*/g, ' ')
    .replace(/^Not enough arguments following: (.*)$/, '--$1 needs a value')
    .replace(/^Invalid values: Argument: (.*), Given: (.*), Choices: /, '--$1 cannot be $2: choose one of ');
  return line.charAt(0).toLowerCase() + line.slice(1);
}

function add(
  parser: Argv,
  cliCommand: CliCommand,
  { argv, settings }: { argv: readonly string[]; settings: SettingsByFlag },
  handler: (args: Arguments) => Promise<void>,
): Argv {
  const known = Object.fromEntries(
    [...settings].filter(([name]) => name in cliCommand.options).map(([name, { value }]) => [name, value]),
  );
  const positional = [cliCommand.argument ?? []].flat();
  return parser.command({
    command: [cliCommand.name, ...positional.map(({ name }) => `[${name}]`)].join(' '),
    describe: cliCommand.describe,
    builder: (builder: Argv) => {
      const described = positional.reduce(
        (begun, { name, describe }) => begun.positional(name, { type: 'string', describe }),
        builder,
      );
      return described
        .options(withValues(cliCommand))
        .config(known)
        .check(checkValues(cliCommand, argv, settings));
    },
    handler,
  });
}

/** Every option that takes a value requires one. */
function withValues({ options }: CliCommand): Record<string, YargsOption> {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, { ...option, requiresArg: option.type !== 'boolean' }]),
  );
}

/** Refuses what yargs accepts: an option given twice, and a flag with a value (yargs reads `--json=1` as false). */
function checkValues(
  { options }: CliCommand,
  argv: readonly string[],
  settings: SettingsByFlag,
): (args: Arguments) => true {
  return (args) => {
    for (const [name, option] of Object.entries(options)) {
      const value = args[name];
      const given = new RegExp(`^--${name}=(?!(true|false)$)`);
      if (option.type === 'boolean' && argv.some((word) => given.test(word)))
        throw new SyncError('usage', `--${name} takes no value: write --${name} or --no-${name}`);
      if (!option.array && Array.isArray(value))
        throw new SyncError('usage', `--${name} is given more than once: give it once`);
      const isEmpty = value === '' || flagValue(argv, `--${name}`) === '';
      if (option.type !== 'boolean' && isEmpty) throw new OptionError(keyOf(name), `--${name} needs a value`);
      if (name !== 'file' && value === shielded(STDIN))
        throw new OptionError(keyOf(name), `--${name} cannot be -: name a file or a folder`);
    }
    checkMirror(args, argv, settings);
    return true;
  };
}

/** The log level, even when the other options cannot be read. */
function logLevelOf(argv: readonly string[], settingsByFlag: SettingsByFlag, env: CommandIo['env']): unknown {
  return flagValue(argv, '--log-level') ?? settingsByFlag.get('log-level')?.value ?? env['OBSYNC_LOG_LEVEL'];
}

/** Prints the error in one line, and its stack only at `--log-level debug`. */
function report(error: unknown, level: unknown): number {
  const message = error instanceof Error ? error.message : String(error);
  printFailure(withoutPasswords(message));
  if (level === 'debug' || level === 'trace') console.error(withoutPasswords(inspect(error)));
  return error instanceof SyncError ? exitCodeOf(error.recovery) : 1;
}

/** Ends the output. A reader that has closed the pipe, such as `head`, is not an error. */
function endOutput(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`obsync: stdout cannot be written: ${error.message}\n`);
  process.exit(1);
}

function processIo(): CommandIo {
  return {
    env: process.env,
    out: (text) => void process.stdout.write(text),
    outIsTerminal: process.stdout.isTTY === true,
    errIsTerminal: process.stderr.isTTY === true,
    log: async (level) => (await import('./log.ts')).createLog(level),
    serverLog: async (level) => (await import('./log.ts')).createServerLog(level),
  };
}
