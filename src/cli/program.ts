import yargs, { type Arguments, type Argv, type Options as YargsOption } from 'yargs';
import { SyncError } from '../core/errors.ts';
import { OptionError } from '../library/option-error.ts';
import { flagOf } from '../library/options.ts';
import { isReadByAll } from '../library/token.ts';
import type { CliCommand, CommandIo } from './command.ts';
import { COMMANDS } from './commands.ts';
import { exitCodeOf } from './exit-code.ts';
import { OPTIONS, STDIN } from './options.ts';
import { flagValue, hint, keyOf, type SettingsByFlag, settingsOf, unknownVariables } from './settings.ts';
import { version } from './version.ts';
import { tellFailure } from './wrapped.ts';

/** The commands that a line may mean; all of them when it names none. */
function commandsIn(argv: readonly string[]): readonly CliCommand[] {
  const named = COMMANDS.filter(({ name }) => argv.includes(name));
  return named.length > 0 ? named : COMMANDS;
}

const EXIT_CODES = `Exit codes: 0 all well (verify: equal); 1 finished with problems (verify: not equal, or not known); 2 bad usage or configuration; 3 token refused; \
4 another sync holds the mirror; 5 stopped by --max-requests; 130 and 143 on signals.

Every option can also be given as a variable (--full-every as OBSYNC_FULL_EVERY) or in a JSON file named by \
--config (as fullEvery); a flag stands over a variable, a variable over the file. The token of the service \
comes from OBSYNC_TOKEN or from the file named by --token-file, and from nowhere else; who may ask a server is told by \
OBSYNC_SERVE_TOKEN and the file named by --tokens.`;

/** Runs one command line; the last place that sees an error. @returns the exit code */
export async function main(words: readonly string[]): Promise<number> {
  const argv = words.map(shielded);
  const io = processIo();
  process.stdout.on('error', endOutput);
  // A full disk, or a reader that has gone: what cannot be told changes nothing else.
  process.stderr.on('error', () => {});
  let code = 0;
  let settingsByFlag: SettingsByFlag = new Map();
  try {
    // What follows it would be passed over without a word.
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

/** SQL may open with a comment, which only its white space tells from a flag. */
function shielded(word: string): string {
  // The parser would take it for an empty text.
  if (word === STDIN) return ` ${word}`;
  return /^--[^=]*\s/.test(word) ? ` ${word}` : word;
}

/** Options without a value: what follows one before the command is the command. Each command says by itself which it takes. */
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
    .usage('$0 <command> [options]\n\nMirrors a data-observability service into a local SQLite file and keeps it true.')
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

/** What yargs found wrong, with where it stands or what was meant. */
function explained(words: string, { argv, settings, commands }: ParsedLine): SyncError {
  const option = /^--([a-z-]+) cannot be/.exec(words)?.[1];
  if (option !== undefined) return located(new OptionError(keyOf(option), words), argv, settings) as SyncError;
  const [, unknown] = /^unknown arguments?: ([^\s,]+)/.exec(words) ?? [];
  if (words.startsWith('did you mean')) {
    const command = argv.find((word, i) => !word.startsWith('-') && !takesValue(argv[i - 1] ?? ''));
    return new SyncError('usage', `unknown command: ${command}, ${words} (see obsync --help)`);
  }
  if (unknown === undefined || !isFlagged(unknown, argv)) return new SyncError('usage', `${words} (see obsync --help)`);
  const options = commands.find(({ name }) => argv.includes(name))?.options ?? {};
  return new SyncError(
    'usage',
    `unknown option: --${unknown}${hint(unknown, Object.keys(options), '--')} (see obsync --help)`,
  );
}

/** Whether a word is an option whose value is the word behind it. */
function takesValue(word: string): boolean {
  return word.startsWith('-') && !word.includes('=') && !(word.replace(/^--(no-)?/, '') in FLAGS);
}

/** An error in the value of an option, with the variable or the file that gave it. */
function located(error: unknown, argv: readonly string[], settingsByFlag: SettingsByFlag): unknown {
  if (!(error instanceof OptionError) || isFlagged(flagOf(error.option), argv)) return error;
  const from = settingsByFlag.get(flagOf(error.option))?.from;
  return from === undefined ? error : new SyncError(error.recovery, `${from}: ${error.message}`, { cause: error });
}

function isFlagged(name: string, argv: readonly string[]): boolean {
  return argv.some((word) => word === `--${name}` || word.startsWith(`--${name}=`));
}

/** What does not stop a command, but is hardly what was meant. */
async function warn(args: Arguments, commandIo: CommandIo): Promise<void> {
  const tokenFile = args['token-file'];
  const isOpen = typeof tokenFile === 'string' && isReadByAll(tokenFile);
  const open = `every user of this machine may read the token file ${tokenFile}: make it readable to its owner alone (chmod 600)`;
  const warnings = [...unknownVariables(commandIo.env), ...(isOpen ? [open] : [])];
  if (warnings.length === 0) return;
  const log = await commandIo.log((args['log-level'] as string | undefined) ?? 'warn');
  for (const each of warnings) log.warn(each);
}

/** What yargs says, in one line and in words that name what to write. */
function plain(message: string): string {
  const line = message
    .replaceAll(/\n\s*/g, ' ')
    .replace(/^Not enough arguments following: (.*)$/, '--$1 needs a value')
    .replace(/^Invalid values: Argument: (.*), Given: (.*), Choices: /, '--$1 cannot be $2, it is one of ');
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
  const { argument } = cliCommand;
  return parser.command({
    command: argument === undefined ? cliCommand.name : `${cliCommand.name} [${argument.name}]`,
    describe: cliCommand.describe,
    builder: (builder: Argv) => {
      const described =
        argument === undefined
          ? builder
          : builder.positional(argument.name, { type: 'string', describe: argument.describe });
      return described.options(withValues(cliCommand)).config(known).check(checkValues(cliCommand, argv));
    },
    handler,
  });
}

/** An option that takes a value is never given without one. */
function withValues({ options }: CliCommand): Record<string, YargsOption> {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, { ...option, requiresArg: option.type !== 'boolean' }]),
  );
}

/** What yargs lets pass: options given twice, and flags with a value (`--json=1` is a no to it). */
function checkValues({ options }: CliCommand, argv: readonly string[]): (args: Arguments) => true {
  return (args) => {
    for (const [name, option] of Object.entries(options)) {
      const value = args[name];
      const given = new RegExp(`^--${name}=(?!(true|false)$)`);
      if (option.type === 'boolean' && argv.some((word) => given.test(word)))
        throw new SyncError('usage', `--${name} takes no value: write --${name} or --no-${name}`);
      if (!option.array && Array.isArray(value)) throw new SyncError('usage', `--${name} is given more than once`);
      if (option.type === 'string' && value === '') throw new OptionError(keyOf(name), `--${name} needs a value`);
    }
    return true;
  };
}

/** As it is set, whatever else could not be read. */
function logLevelOf(argv: readonly string[], settingsByFlag: SettingsByFlag, env: CommandIo['env']): unknown {
  return flagValue(argv, '--log-level') ?? settingsByFlag.get('log-level')?.value ?? env['OBSYNC_LOG_LEVEL'];
}

/** One clear line; the stack at `--log-level debug` alone. */
function report(error: unknown, level: unknown): number {
  const message = error instanceof Error ? error.message : String(error);
  tellFailure(message);
  if (level === 'debug' || level === 'trace') console.error(error);
  return error instanceof SyncError ? exitCodeOf(error.recovery) : 1;
}

/** A reader that has gone, such as `head`, is no trouble. */
function endOutput(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`obsync: the output cannot be written: ${error.message}\n`);
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
