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
  'OBSYNC_FROM',
  'OBSYNC_TWINS',
  'OBSYNC_CHAOS_RUNS',
  'OBSYNC_EVERY',
  'OBSYNC_TEST_NODE_IMAGE',
  'OBSYNC_TEST_CITUS',
  'OBSYNC_TEST_POSTGRES',
];

/** yargs adds these to every command. */
const OF_EVERY_COMMAND = ['help', 'version'];

const optionsOf = (name: string) => COMMANDS.find((command) => command.name === name)?.options ?? {};
const names = Object.keys(ALL_OPTIONS);

/** Each option, once for every meaning that it has. */
const uses = names.flatMap((name) => {
  const entries = new Set(COMMANDS.flatMap(({ options }) => options[name] ?? []));
  return [...entries].map((entry) => {
    const takers = COMMANDS.filter(({ options }) => options[name] === entry).map((command) => command.name);
    return { name, entry, takers: takers.length === COMMANDS.length ? 'all' : takers.join(', ') };
  });
});

const optionRows = uses.map(({ name, entry, takers }) => [
  [entry.type === 'object' ? name : `--${flagOf(name)}`, ...(entry.alias === undefined ? [] : [`-${entry.alias}`])]
    .map(code)
    .join(', '),
  takers,
  valuesOf(entry),
  entry.default === undefined ? '' : code(String(entry.default)),
  withCode(entry.describe),
]);

function valuesOf({ type, range, choices }: OptionEntry): string {
  if (type === 'boolean') return 'none';
  if (type === 'object') return 'object, in the file only';
  if (choices !== undefined) return choices.map(code).join(', ');
  return range === undefined ? 'text' : rangeText(range);
}

/** The flags, variables, addresses and JSON in a description as code. */
function withCode(text: string): string {
  return text.replaceAll(/--[a-z][a-z-]*|\b[A-Z]+_[A-Z_]+\b|postgres:[\w:/@?=]+|\{.*\}/g, code);
}

const argumentRows = COMMANDS.flatMap(({ name, positionals = [] }) =>
  positionals.map((argument) => [code(name), argument.name, withCode(argument.describe)]),
);

describe('docs/options.md', () => {
  test('its generated parts match the options and arguments of the commands', () =>
    expectGenerated(readDocument('docs/options.md'), {
      options: tableText(['option', 'commands', 'value', 'default', 'meaning'], optionRows),
      arguments: tableText(['command', 'argument', 'meaning'], argumentRows),
    }));

  test('some command takes each option', () => {
    expect([...new Set(uses.map(({ name }) => name))]).toEqual(names);
  });

  test.each(uses)('a phrase without a link or a final period describes $name of $takers', ({ entry }) => {
    expect(entry.describe).toMatch(/^[a-z].*[^.]$/i);
    expect(entry.describe).not.toMatch(/\]\(|[|\n]/);
  });
});

describe('the options and variables in every document', () => {
  const variables = [
    ...names.map((name) => `OBSYNC_${flagOf(name).replaceAll('-', '_').toUpperCase()}`),
    ...OTHER_VARIABLES,
  ];

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
