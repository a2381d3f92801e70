import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { flagOf } from '../../src/settings/option-error.ts';
import { allDocuments, codeIn, nameIn, readDocument, rowsOf, sectionOf } from './documents.ts';

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

const rows = rowsOf(sectionOf(readDocument('docs/options.md'), 'All options'));
const documented = new Map(rows.map(([option, ...rest]) => [nameIn(option).slice('--'.length), rest]));

/** The options of each command by flag name. */
const commands = COMMANDS.map(({ name, options }) => ({
  name,
  options: Object.fromEntries(Object.entries(options).map(([option, entry]) => [flagOf(option), entry])),
}));
const optionsOf = (name: string) => commands.find((command) => command.name === name)?.options ?? {};
const names = [...new Set(commands.flatMap(({ options }) => Object.keys(options)))];

/** The commands of an option, as the page lists them. */
function takersOf(option: string): string[] | 'all' {
  const takers = commands.filter(({ options }) => option in options).map(({ name }) => name);
  return takers.length === commands.length ? 'all' : takers.sort();
}

describe('docs/options.md', () => {
  test('it has exactly the options of all commands', () => {
    expect([...documented.keys()].sort()).toEqual([...names, ...OF_EVERY_COMMAND].sort());
    expect(documented.size).toBe(rows.length);
  });

  test.each(names)('it says which commands accept --%s', (option) => {
    const [takers = ''] = documented.get(option) ?? [];
    expect(takers === 'all' ? takers : takers.split(', ').sort()).toEqual(takersOf(option));
  });

  test.each(names)('it has the defaults of --%s, its values and its short form', (option) => {
    const [, defaults = '', meaning = ''] = documented.get(option) ?? [];
    for (const { options } of commands) {
      const { default: value, choices = [], alias } = options[option] ?? {};
      if (value !== undefined) expect(codeIn(defaults)).toContain(String(value));
      for (const choice of choices) expect(codeIn(meaning)).toContain(choice);
      if (alias !== undefined) expect(codeIn(meaning)).toContain(`-${alias}`);
    }
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
        const known = [...Object.keys(optionsOf(command)), ...OF_EVERY_COMMAND];
        return flags.every((flag) => known.includes(flag)) ? [] : [line];
      });
      expect(unknown).toEqual([]);
    },
  );
});
