import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { flagOf } from '../../src/settings/option-error.ts';
import { allDocuments, codeIn, nameIn, readDocument, rowsOf, sectionOf } from './documents.ts';

/** Variables that are no options: tokens, and those that say how much the tests play, and where. */
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

/** yargs gives these to every command. */
const OF_EVERY_COMMAND = ['help', 'version'];

const rows = rowsOf(sectionOf(readDocument('docs/options.md'), 'All options'));
const documented = new Map(rows.map(([option, ...rest]) => [nameIn(option).slice('--'.length), rest]));

/** The options of each command by the names of their flags. */
const commands = COMMANDS.map(({ name, options }) => ({
  name,
  options: Object.fromEntries(Object.entries(options).map(([option, entry]) => [flagOf(option), entry])),
}));
const optionsOf = (name: string) => commands.find((command) => command.name === name)?.options ?? {};
const names = [...new Set(commands.flatMap(({ options }) => Object.keys(options)))];

/** The commands that take an option, as the page says it. */
function takersOf(option: string): string[] | 'all' {
  const takers = commands.filter(({ options }) => option in options).map(({ name }) => name);
  return takers.length === commands.length ? 'all' : takers.sort();
}

describe('docs/options.md', () => {
  test('has every option of every command, and no other', () => {
    expect([...documented.keys()].sort()).toEqual([...names, ...OF_EVERY_COMMAND].sort());
    expect(documented.size).toBe(rows.length);
  });

  test.each(names)('says which commands take --%s', (option) => {
    const [takers = ''] = documented.get(option) ?? [];
    expect(takers === 'all' ? takers : takers.split(', ').sort()).toEqual(takersOf(option));
  });

  test.each(names)('says the defaults of --%s, its values and its short form', (option) => {
    const [, defaults = '', meaning = ''] = documented.get(option) ?? [];
    for (const { options } of commands) {
      const { default: value, choices = [], alias } = options[option] ?? {};
      if (value !== undefined) expect(codeIn(defaults)).toContain(String(value));
      for (const choice of choices) expect(codeIn(meaning)).toContain(choice);
      if (alias !== undefined) expect(codeIn(meaning)).toContain(`-${alias}`);
    }
  });
});

describe('every document', () => {
  const variables = [...names.map((name) => `OBSYNC_${name.replaceAll('-', '_').toUpperCase()}`), ...OTHER_VARIABLES];

  test.each(allDocuments().map(({ path, text }) => [path, text] as const))(
    '%s names variables that exist',
    (_, text) => {
      const named = [...text.matchAll(/\bOBSYNC_[A-Z_]+\b/g)].map(([variable]) => variable);
      expect(named.filter((variable) => !variables.includes(variable))).toEqual([]);
    },
  );

  test.each(allDocuments().map(({ path, text }) => [path, text] as const))(
    '%s gives commands options that they have',
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
