import { describe, expect, test } from 'vitest';
import { ALL_OPTIONS, COMMANDS } from '../../src/cli/commands.ts';
import { flagOf, rangeText } from '../../src/settings/option-error.ts';
import type { OptionEntry } from '../../src/settings/option-table.ts';
import { allDocuments, code, expectGenerated, readDocument, tableText } from './documents.ts';

/** Variables that are not options: tokens, and settings of the tests. */
const OTHER_VARIABLES = [
  'OBSYNC_TOKEN',
  'OBSYNC_SERVE_TOKEN',
  'OBSYNC_SEED',
  'OBSYNC_RUNS',
  'OBSYNC_TWINS',
  'OBSYNC_CHAOS_RUNS',
  'OBSYNC_EVERY',
  'OBSYNC_TEST_POSTGRES',
];

/** yargs adds these to every command. */
const OF_EVERY_COMMAND = ['help', 'version'];

const optionsOf = (name: string) => COMMANDS.find((command) => command.name === name)?.options ?? {};
const names = Object.keys(ALL_OPTIONS).map(flagOf);

/** An option as some commands take it: it may mean something else to others. */
interface OptionUse {
  readonly name: string;
  readonly entry: OptionEntry;
  readonly commands: string;
}

const uses: readonly OptionUse[] = Object.keys(ALL_OPTIONS).flatMap((name) => {
  const entries = new Set(COMMANDS.flatMap(({ options }) => options[name] ?? []));
  return [...entries].map((entry) => {
    const takers = COMMANDS.filter(({ options }) => options[name] === entry);
    const isAll = takers.length === COMMANDS.length;
    return { name, entry, commands: isAll ? 'all' : takers.map((each) => each.name).join(', ') };
  });
});

const optionRow = ({ name, entry, commands }: OptionUse): string[] => {
  const { alias, default: value, describe } = entry;
  const flag = code(`--${flagOf(name)}`);
  return [
    alias === undefined ? flag : `${flag}, ${code(`-${alias}`)}`,
    commands,
    valuesOf(entry),
    value === undefined ? '' : code(String(value)),
    withCode(describe),
  ];
};

function valuesOf({ type, range, choices }: OptionEntry): string {
  if (type === 'boolean') return 'none';
  if (choices !== undefined) return choices.map(code).join(', ');
  return range === undefined ? 'text' : rangeText(range);
}

/** The flags, variables, addresses and JSON in a description as code. */
const withCode = (text: string): string =>
  text.replaceAll(/--[a-z][a-z-]*|\b[A-Z]+_[A-Z_]+\b|postgres:[\w:/@?=]+|\{.*\}/g, code);

describe('docs/options.md', () => {
  test('its generated parts match the options and arguments of the commands', () =>
    expectGenerated(readDocument('docs/options.md'), {
      options: tableText(['option', 'commands', 'value', 'default', 'meaning'], uses.map(optionRow)),
      arguments: tableText(
        ['command', 'argument', 'meaning'],
        COMMANDS.flatMap(({ name, positionals = [] }) =>
          positionals.map((argument) => [code(name), argument.name, withCode(argument.describe)]),
        ),
      ),
    }));

  test.each(names)('a command accepts --%s', (option) => {
    expect(uses.filter(({ name }) => flagOf(name) === option)).not.toEqual([]);
  });

  test.each(uses)('a phrase without a link or a final period describes --$name of $commands', ({ entry }) => {
    expect(entry.describe).toMatch(/^[a-z].*[^.]$/i);
    expect(entry.describe).not.toMatch(/\]\(|[|\n]/);
  });
});

describe('the options and variables in every document', () => {
  const variables = [...names.map((name) => `OBSYNC_${name.replaceAll('-', '_').toUpperCase()}`), ...OTHER_VARIABLES];

  test.each(allDocuments().map(({ path, text }) => [path, text] as const))(
    '%s mentions only variables that exist',
    (_, text) => {
      const named = [...text.matchAll(/\bOBSYNC_[A-Z_]+\b/g)].map(([variable]) => variable);
      expect(named.filter((variable) => !variables.includes(variable))).toEqual([]);
    },
  );

  test.each(allDocuments().map(({ path, text }) => [path, text] as const))(
    '%s uses only options that the command has',
    (_, text) => {
      const unknown = [...text.matchAll(/\bobsync ([a-z]+)([^`\n|]*)/g)].flatMap(([line, command = '', rest = '']) => {
        const flags = [...rest.matchAll(/(?<=\s)--(?:no-)?([a-z][a-z-]*)/g)].map(([, flag = '']) => flag);
        const known = [...Object.keys(optionsOf(command)).map(flagOf), ...OF_EVERY_COMMAND];
        return flags.every((flag) => known.includes(flag)) ? [] : [line];
      });
      expect(unknown).toEqual([]);
    },
  );
});
