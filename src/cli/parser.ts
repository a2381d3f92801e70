import yargs, { type Argv, type Options as YargsOption } from 'yargs';
import { didYouMean } from '../core/closest-name.ts';
import { type SyncError, usageError } from '../core/errors.ts';
import { flagOf, OptionError, rangeText } from '../settings/option-error.ts';
import type { OptionEntry } from '../settings/option-table.ts';
import { version } from '../settings/version.ts';
import type { CliCommand, CommandArguments } from './command.ts';
import { ALL_OPTIONS, COMMANDS } from './commands.ts';
import { ALERTS_ADVICE, readValues, splitAtCommas, TOKEN_ADVICE } from './settings.ts';

const EXIT_CODES = `Exit codes: 0 success (verify: equal); 1 finished with problems (verify: not equal, or not known); 2 bad usage or configuration; 3 token refused; \
4 another sync has locked the mirror; 5 stopped by --max-requests; 130 and 143 on signals.

Options can also be set by an environment variable (OBSYNC_FULL_EVERY for --full-every) or in the JSON file that \
--config names (fullEvery). A flag overrides a variable, and a variable overrides the file. The token of the service \
comes only from OBSYNC_TOKEN or from the file passed with --token-file. The tokens that a server accepts come from \
OBSYNC_SERVE_TOKEN and from the file that --tokens names.`;

/** Options without a value: the next word may be the command. Each command declares which of them it accepts. */
const FLAGS: Readonly<Record<string, YargsOption>> = Object.fromEntries(
  Object.entries(ALL_OPTIONS)
    .filter(([, { type }]) => type === 'boolean')
    .map(([name]) => [flagOf(name), { type: 'boolean', global: false, hidden: true }]),
);

/** Creates the parser, with help `width` columns wide. It calls `run`, and throws SyncError `usage`. */
export function createParser(
  width: number | null,
  run: (command: CliCommand, parsed: CommandArguments) => Promise<void>,
): Argv {
  const parser: Argv = yargs()
    .scriptName('obsync')
    .usage(
      '$0 <command> [options]\n\nMirrors the read API of Elementary Cloud, or of a service with the same API, into SQLite or PostgreSQL and keeps it up to date.',
    )
    .locale('en')
    .updateStrings({
      'Not enough arguments following: %s': '--%s needs a value',
      'Argument unexpected for: %s': '--%s takes no value: leave out the = and what follows',
    })
    .version(version())
    .alias({ help: 'h', version: 'v' })
    .parserConfiguration({ 'greedy-arrays': false, 'dot-notation': false, 'camel-case-expansion': false })
    .options(FLAGS)
    .strict()
    .demandCommand()
    .completion('completion', 'print a script that completes commands and options in bash or zsh')
    .epilogue(EXIT_CODES)
    .wrap(Math.min(120, width ?? 80))
    .exitProcess(false)
    .showHelpOnFail(false)
    .fail((message: string | null) => {
      throw refusal(parser.parsed as ParsedLine, message ?? 'bad usage');
    });
  return COMMANDS.reduce((each, command) => addCommand(each, command, run), parser);
}

/** An SQL statement may start with a comment (`-- …`). A space before it keeps yargs from reading it as a flag. */
export function withoutComment(word: string): string {
  return /^--[^=]*\s/.test(word) ? ` ${word}` : word;
}

function addCommand(parser: Argv, command: CliCommand, run: Parameters<typeof createParser>[1]): Argv {
  const { name, describe, options, positionals = [] } = command;
  return parser.command({
    command: [name, ...positionals.map((each) => `[${each.name}]`)].join(' '),
    describe,
    builder: (builder: Argv) =>
      positionals
        .reduce((each, { name, describe }) => each.positional(name, { type: 'string', describe }), builder)
        // Otherwise yargs reads `-` as an empty argument.
        .requiresArg(positionals.map(({ name }) => name))
        .options(
          Object.fromEntries(
            Object.entries(options)
              .filter(([, { type }]) => type !== 'object')
              .map(([option, entry]) => [flagOf(option), yargsOption(entry)]),
          ),
        ),
    handler: (parsed: CommandArguments) => run(command, parsed),
  });
}

/** Numbers stay text, since yargs reads an empty one as 0. Defaults are only for the help: settings override them. */
function yargsOption({ type, default: defaultValue, range, describe, stdio: _, ...entry }: OptionEntry): YargsOption {
  const takesValue = type !== 'boolean';
  return {
    ...entry,
    ...(type === 'object' ? {} : { type }),
    describe: range === undefined ? describe : `${describe} (${rangeText(range)})`,
    ...(takesValue ? { string: true, requiresArg: true } : { nargs: 0 }),
    // Before yargs checks the choices.
    ...(entry.commas ? { coerce: (given: unknown) => splitAtCommas([given].flat()) } : {}),
    defaultDescription: JSON.stringify(defaultValue),
  };
}

/** The options that the flags of a command line set, by option name. @throws OptionError */
export function flagsOf({ options }: CliCommand, parsed: CommandArguments): CommandArguments {
  return readValues(options, (name) => parsed[flagOf(name)]);
}

/** Refuses flags without effect; other commands may share variables and the config file. @throws OptionError */
export function checkDependents(
  { dependents = {} }: CliCommand,
  flags: CommandArguments,
  args: CommandArguments,
): void {
  for (const [needed, names] of Object.entries(dependents)) {
    const name = names.find((each) => each in flags);
    if (name !== undefined && (args[needed] ?? false) === false)
      throw new OptionError(name, `--${flagOf(name)} has no effect without --${flagOf(needed)}: add it`);
  }
}

/** Why yargs rejected a command line: derived from its parse result where possible, else yargs' own message. */
function refusal({ argv, aliases }: ParsedLine, message: string): SyncError {
  const [name, ...rest] = argv._.map(String);
  const command = COMMANDS.find((each) => each.name === name);
  const unknown = Object.keys(argv).find((key) => !['_', '$0', '--'].includes(key) && !Object.hasOwn(aliases, key));
  const refused = (what: string): SyncError => usageError(`${what} (see obsync --help)`);
  if (name === undefined) return refused('no command: try obsync sync');
  if (name === 'completion')
    return refused('completion takes no arguments: it prints a script for the shell in $SHELL');
  if (command === undefined) return refused(`unknown command: ${name}${didYouMean(name, COMMAND_NAMES)}`);
  if (unknown !== undefined) return refused(unknownOption(unknown, command));
  if (rest.length > 0) return refused(`unknown argument${rest.length > 1 ? 's' : ''}: ${rest.join(', ')}`);
  flagsOf(command, argv);
  return refused(message);
}

export const COMMAND_NAMES = COMMANDS.map(({ name }) => name);

type ParsedLine = Exclude<Argv['parsed'], false>;

function unknownOption(name: string, { options }: CliCommand): string {
  const flag = `${name.length === 1 ? '-' : '--'}${name}`;
  if (name === 'token') return `unknown option: ${flag}: ${TOKEN_ADVICE}`;
  if (name === 'alerts') return `unknown option: ${flag}: ${ALERTS_ADVICE}`;
  if (name === 'json' && 'format' in options) return `unknown option: ${flag}: write --format json`;
  return `unknown option: ${flag}${didYouMean(name, Object.keys(options).map(flagOf), '--')}`;
}
