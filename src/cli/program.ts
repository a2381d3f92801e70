import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { errorMessage, exitCodeOf, SyncError, usageError } from '../core/errors.ts';
import { containsPassword, refuseTwoMirrors, warningsOfAddresses } from '../settings/addresses/mirror-address.ts';
import { flagOf, OptionError } from '../settings/option-error.ts';
import { readTextFile } from '../settings/read-text-file.ts';
import { isReadByAll } from '../settings/token.ts';
import { type CliCommand, type CommandArguments, type CommandIo, logSettings, stdoutWidth } from './command.ts';
import { COMMAND_NAMES, checkDependents, createParser, flagsOf, withoutComment } from './parser.ts';
import { printFailure } from './print.ts';
import { defaultsOf, readValues, type SettingsByName, settingsOf, unknownVariables, variableOf } from './settings.ts';

export async function main(argv: readonly string[], io = processIo()): Promise<number> {
  let code = 0;
  let settings: SettingsByName = new Map();
  const parser = createParser(stdoutWidth(io), async (command, parsed) => {
    const flags = flagsOf(command, parsed);
    settings = settingsOf(command.options, flags, io.env);
    const given = { ...readValues(command.options, (name) => settings.get(name)?.value), ...flags };
    const positionals = Object.fromEntries((command.positionals ?? []).map(({ name }) => [name, parsed[name]]));
    const args = { ...defaultsOf(command.options), ...given, ...positionals };
    checkDependents(command, flags, args);
    checkMirror(given, settings);
    await warn(command, args, settings, io);
    code = await command.run(args, io);
  });
  try {
    // The parser would silently ignore everything after it.
    if (argv.includes('--') && argv[0] !== '--get-yargs-completions')
      throw usageError('unknown argument: -- (see obsync --help)');
    const [first, ...rest] = argv;
    const unknown = rest.find((name) => !COMMAND_NAMES.includes(name));
    const helped = unknown === undefined ? [...rest, '--help'] : [unknown];
    const words = first === 'help' ? helped : argv;
    await parser.parseAsync(words.map(withoutComment), {}, (_error, _parsed, help) => {
      if (help !== '') io.stdout.write(`${help}\n`);
    });
    return code;
  } catch (error) {
    const flags: CommandArguments = parser.parsed === false ? {} : parser.parsed.argv;
    const [logLevel, logFormat] = (['logLevel', 'logFormat'] as const).map(
      // A flag may be given twice: that is an error, too.
      (name) => [flags[flagOf(name)]].flat().at(-1) ?? settings.get(name)?.value ?? io.env[variableOf(name)],
    );
    return report(withOrigin(error, settings), { logLevel, logFormat }, io);
  }
}

/** Adds to an option's error the variable or file that the value came from. */
function withOrigin(error: unknown, settings: SettingsByName): unknown {
  if (!(error instanceof OptionError)) return error;
  const from = settings.get(error.option)?.from;
  return from === undefined ? error : new SyncError(error.recovery, `${from}: ${error.message}`, { cause: error });
}

/** The options that may name a mirror in PostgreSQL, and the alternatives for their passwords. */
const ADDRESSES = {
  db: 'or put the whole address into OBSYNC_DB or into a file for --db-file',
  to: 'or set OBSYNC_TO',
} as const;

/** Variables that may contain an address with its password: only the user and root can read them. */
const PRIVATE = ['OBSYNC_DB', 'OBSYNC_TO'];

/** Refuses two mirrors, and a password that other users can read: in arguments or a config file. @throws OptionError */
function checkMirror(given: CommandArguments, settings: SettingsByName): void {
  for (const [name, elsewhere] of Object.entries(ADDRESSES)) {
    const { [name]: value } = given;
    const from = settings.get(name)?.from ?? 'the command line';
    if (typeof value !== 'string' || PRIVATE.includes(from) || !containsPassword(value)) continue;
    throw new OptionError(
      name,
      `--${name} contains a password, which others can read in ${from}: remove it there, and set PGPASSWORD, use ~/.pgpass or a service file, ${elsewhere}`,
    );
  }
  refuseTwoMirrors(given);
}

/** Options that name a file containing a secret, and what the file is. */
const SECRET_FILES = { tokenFile: 'the token file', dbFile: 'the address file' } as const;

/** Warns of settings that are valid but probably a mistake. */
async function warn(
  { name: command }: CliCommand,
  args: CommandArguments,
  settings: SettingsByName,
  io: CommandIo,
): Promise<void> {
  const open = Object.entries(SECRET_FILES).flatMap(([name, what]) => {
    const path = args[name];
    // `doctor` checks the token file itself.
    if (typeof path !== 'string' || !isReadByAll(path) || (command === 'doctor' && name === 'tokenFile')) return [];
    return [`every user of this machine can read ${what} ${path}: make it readable by its owner only (chmod 600)`];
  });
  // The database of accounts names the variables of their tokens.
  const tokens = ['worker', 'accounts'].includes(command)
    ? Object.keys(io.env).filter((name) => /_TOKEN$/.test(name))
    : [];
  const unknown = unknownVariables(io.env, [settings.get('alerts')?.value, args['tokenEnv'], tokens]);
  const warnings = [...unknown, ...open, ...warningsOfAddresses(addressesIn(args), io.env)];
  if (warnings.length === 0) return;
  const log = await io.log(logSettings(args));
  for (const each of warnings) log.warn(each);
}

/** All that `--db` and `--to` name. @throws SyncError `usage` if a file with an address cannot be read */
function addressesIn(args: CommandArguments): string[] {
  const file = args['dbFile'];
  const given = [typeof file === 'string' ? readTextFile(file).trim() : args['db'], args['to']];
  return given.filter((each) => typeof each === 'string');
}

/** Prints the error on one line, and its stack only with `--log-level debug`. */
async function report(error: unknown, args: CommandArguments, io: CommandIo): Promise<number> {
  const message = errorMessage(error);
  const isDetailed = ['debug', 'trace'].includes(logSettings(args).level);
  await printFailure(withoutPasswords(message), args, io, isDetailed ? withoutPasswords(inspect(error)) : null);
  return error instanceof SyncError ? exitCodeOf(error.recovery) : 1;
}

/** `scheme://user:password@`, as in the address of a database. */
const USER_INFO = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:/?#@]*):[^\s]*@/gi;
const PARAMETER = /([?&;\s](?:password|sslpassword)=)[^&\s]*/gi;

/** Removes the passwords of addresses: a last resort for texts that repeat what a user typed. */
export function withoutPasswords(text: string): string {
  return text.replaceAll(USER_INFO, '$1:***@').replaceAll(PARAMETER, '$1***');
}

/** Ends the output. It is no error if the reader, such as `head`, has closed the pipe. */
function endOutput(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') return;
  process.stderr.write(`obsync: stdout cannot be written: ${error.message}\n`);
  process.exit(1);
}

function processIo(): CommandIo {
  process.stdout.on('error', endOutput);
  // stderr fails when the disk is full or its reader has gone. Nothing else should change.
  process.stderr.on('error', () => {});
  return {
    env: process.env,
    // Opening stdin has side effects, and only `query -` reads it.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
    log: async (settings) => (await import('./log.ts')).createLog(settings),
    serverLog: async (settings) => (await import('./log.ts')).createServerLog(settings),
    limitHeap,
  };
}

/** Limits the heap of the whole process. Only the program does this; a library must not. */
function limitHeap(): void {
  // Most of a page fits into 3 MiB. The default of 1 MiB is collected so often that a first sync takes a tenth more
  // CPU; a young generation that grows takes 100 MiB more and saves no time.
  setFlagsFromString('--min-semi-space-size=3');
  setFlagsFromString('--semi-space-growth-factor=1');
  // Collects garbage once it is as large as the live data. The default allows three times as much: 30 MiB more (R27).
  setFlagsFromString('--heap-growing-percent=100');
  // The first compilation of the HTTP parser is good enough. The second would take 18 MiB for a moment.
  setFlagsFromString('--liftoff-only');
}
