import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import yargs, { type Arguments, type Argv, type Options as YargsOption } from 'yargs';
import { SyncError } from '../core/errors.ts';
import type { Command, Io } from './command.ts';
import { exitCodeOf } from './exit-code.ts';
import { createLog, createServerLog } from './log.ts';
import { flagValue, settingsOf } from './settings.ts';

/** What a command is made of is loaded when it is asked for: no other has to wait for it, nor find room for it. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  sync: async () => (await import('./sync.ts')).sync,
  plan: async () => (await import('./plan.ts')).plan,
  schedule: async () => (await import('./schedule.ts')).schedule,
  status: async () => (await import('./status.ts')).status,
  verify: async () => (await import('./verify.ts')).verify,
  query: async () => (await import('./query.ts')).query,
  serve: async () => (await import('./serve.ts')).serve,
  demo: async () => (await import('./demo.ts')).demo,
};

/** The commands that a line may mean; all of them when it names none. */
function commandsIn(argv: readonly string[]): Promise<Command[]> {
  const all = Object.entries(COMMANDS);
  const named = all.filter(([name]) => argv.includes(name));
  return Promise.all((named.length > 0 ? named : all).map(([, load]) => load()));
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
  let code = 0;
  try {
    // What follows it would be passed over without a word.
    if (argv.includes('--')) throw new SyncError('usage', 'unknown argument: -- (see obsync --help)');
    const settings = settingsOf(argv, io.env);
    const commands = await commandsIn(argv);
    const parser = commands.reduce(
      (parser, command) =>
        add(parser, command, { argv, settings }, async (args) => {
          code = await command.run(args, io);
        }),
      base(argv),
    );
    await parser.parseAsync();
    return code;
  } catch (error) {
    return report(error, argv, io);
  }
}

/** SQL may open with a comment, which only its white space tells from a flag. */
function shielded(word: string): string {
  return /^--[^=]*\s/.test(word) ? ` ${word}` : word;
}

function base(argv: readonly string[]): Argv {
  return yargs([...argv])
    .scriptName('obsync')
    .usage('$0 <command> [options]\n\nMirrors a data-observability service into a local SQLite file and keeps it true.')
    .locale('en')
    .version(version())
    .parserConfiguration({ 'greedy-arrays': false, 'dot-notation': false, 'camel-case-expansion': false })
    .strict()
    .demandCommand(1, 'no command: try obsync sync')
    .recommendCommands()
    .epilogue(EXIT_CODES)
    .wrap(Math.min(120, process.stdout.columns ?? 100))
    .exitProcess(false)
    .showHelpOnFail(false)
    .fail((message: string | null, error: Error | undefined) => {
      if (error !== undefined && error.name !== 'YError') throw error;
      throw new SyncError('usage', `${plain(error?.message ?? message ?? 'bad usage')} (see obsync --help)`);
    });
}

/** What yargs says, in one line and in words that name what to write. */
function plain(message: string): string {
  const line = message
    .replaceAll(/\n\s*/g, ' ')
    .replace(/^Not enough arguments following: (.*)$/, '--$1 needs a value')
    .replace(/^Not enough non-option arguments: .*$/, 'query takes one SQL statement')
    .replace(/^Invalid values: Argument: (.*), Given: (.*), Choices: /, '--$1 cannot be $2, it is one of ');
  return line.charAt(0).toLowerCase() + line.slice(1);
}

function add(
  parser: Argv,
  command: Command,
  { argv, settings }: { argv: readonly string[]; settings: Record<string, unknown> },
  handler: (args: Arguments) => Promise<void>,
): Argv {
  const known = Object.fromEntries(Object.entries(settings).filter(([name]) => name in command.options));
  const { argument } = command;
  return parser.command({
    command: argument === undefined ? command.name : `${command.name} <${argument.name}>`,
    describe: command.describe,
    builder: (builder: Argv) => {
      const described =
        argument === undefined
          ? builder
          : builder.positional(argument.name, { type: 'string', describe: argument.describe });
      return described.options(withValues(command)).config(known).check(checkValues(command, argv));
    },
    handler,
  });
}

/** An option that takes a value is never given without one. */
function withValues({ options }: Command): Record<string, YargsOption> {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, { ...option, requiresArg: option.type !== 'boolean' }]),
  );
}

/** What yargs lets pass: numbers that are none, options given twice, and flags with a value (`--json=1` is a no to it). */
function checkValues({ options }: Command, argv: readonly string[]): (args: Arguments) => true {
  return (args) => {
    for (const [name, option] of Object.entries(options)) {
      const value = args[name];
      const given = new RegExp(`^--${name}=(?!(true|false)$)`);
      if (option.type === 'boolean' && argv.some((word) => given.test(word)))
        throw new SyncError('usage', `--${name} takes no value: write --${name} or --no-${name}`);
      if (!option.array && Array.isArray(value)) throw new SyncError('usage', `--${name} is given more than once`);
      if (option.type === 'number' && value !== undefined && !(Number(value) >= 0))
        throw new SyncError('usage', `--${name} needs a number, 0 or more`);
      if (option.type === 'string' && value === '') throw new SyncError('usage', `--${name} needs a value`);
    }
    return true;
  };
}

/** One clear line; the stack at `--log-level debug` alone. */
function report(error: unknown, argv: readonly string[], io: Io): number {
  const message = error instanceof Error ? error.message : String(error);
  process.stderr.write(`obsync: ${message}\n`);
  const level = flagValue(argv, '--log-level') ?? io.env['OBSYNC_LOG_LEVEL'];
  if (level === 'debug' || level === 'trace') console.error(error);
  return error instanceof SyncError ? exitCodeOf(error.recovery) : 1;
}

/** A reader that has gone, such as `head`, is no trouble. */
function endOutput(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`obsync: the output cannot be written: ${error.message}\n`);
  process.exit(1);
}

function processIo(): Io {
  return {
    env: process.env,
    out: (text) => void process.stdout.write(text),
    outIsTerminal: process.stdout.isTTY === true,
    errIsTerminal: process.stderr.isTTY === true,
    log: createLog,
    serverLog: createServerLog,
  };
}

function version(): string {
  const manifest = findPackageJSON(import.meta.url) ?? 'package.json';
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
