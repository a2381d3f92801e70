import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getTableColumns, getTableName } from 'drizzle-orm';
import { afterAll, describe, expect, test } from 'vitest';
import { isStaged } from '../../schema/common-columns.ts';
import { DICTIONARY, MIRROR_VIEWS } from '../../schema/dictionary.ts';
import { METRICS } from '../../schema/metrics.ts';
import { descriptionOf, type TableOrView } from '../../schema/table.ts';
import { MIRRORED_TABLES, STATE_TABLES } from '../../schema/tables.ts';
import { describe as describeTables } from '../../src/api/describe.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { code, codeIn, expectGenerated, ROOT, readDocument, rowsOf, sectionOf, tableText } from './documents.ts';

const PAGE = readDocument('docs/tables-and-views.md');
const { tables: DESCRIBED } = await describeTables();

const folder = mkdtempSync(join(tmpdir(), 'obsync-docs-'));
const mirror = openForWriting(join(folder, 'mirror.db'));
afterAll(() => {
  mirror.connection.close();
  rmSync(folder, { recursive: true });
});

interface Column {
  readonly name: string;
  readonly type: string;
  /** Its position in the key; 0 if it is not part of it. */
  readonly pk: number;
}

const columnsOf = (name: string): Column[] =>
  mirror.connection.prepare('select name, type, pk from pragma_table_xinfo(?)').all(name) as Column[];

const namesOf = (type: 'table' | 'view'): string[] =>
  mirror.connection
    .prepare("select name from sqlite_master where type = ? and name not like 'sqlite%' order by name")
    .pluck()
    .all(type) as string[];

/** The migration log belongs to drizzle. */
const isOurs = (name: string): boolean => !name.startsWith('__');

/** The state tables that are of interest to users: they record what runs did. */
const RUN_LOG = new Set(['sync_runs', 'sync_stream_runs', 'rejected_rows', 'test_execution_gaps']);
const isRunLog = (table: TableOrView): boolean => RUN_LOG.has(descriptionOf(table).name);

const GENERATED = {
  'mirrored tables': sectionsFor(MIRRORED_TABLES),
  'run log': sectionsFor(STATE_TABLES.filter(isRunLog)),
  'state of the sync': sectionsFor(STATE_TABLES.filter((table) => !isRunLog(table))),
  views: sectionsFor(MIRROR_VIEWS),
  metrics: tableText(
    ['metric', 'view', 'expression', 'meaning'],
    Object.entries(METRICS).map(([name, { view, expression, description }]) => [
      name,
      code(view),
      code(expression.replaceAll('|', '\\|')),
      description,
    ]),
  ),
};

function sectionsFor(tables: readonly TableOrView[]): string {
  return tables
    .map(descriptionOf)
    .filter((table) => !isStaged(table))
    .map(({ name, description, key }) => {
      const keyText = key.length === 0 ? [] : [`Key: ${key.map(code).join(', ')}.`];
      return [`### ${name}`, wrapped(description), ...keyText, columnsText(name)].join('\n\n');
    })
    .join('\n\n');
}

function wrapped(text: string): string {
  return text.replaceAll(/(.{1,120})(?: |$)/g, '$1\n').trimEnd();
}

function columnsText(table: string): string {
  const { kind, columns = [] } = DESCRIBED.find(({ name }) => name === table) ?? {};
  if (kind === 'view')
    return tableText(
      ['column', 'meaning'],
      columns.map(({ name, meaning }) => [code(name), meaning]),
    );
  return tableText(
    ['column', 'type', 'meaning'],
    columns.map(({ name, type, meaning }) => [code(name), String(type), meaning]),
  );
}

describe('docs/tables-and-views.md', () => {
  test('its generated parts match `schema/`', () => expectGenerated(PAGE, GENERATED));

  test('it names every staged table and its additional columns', () => {
    const { text } = sectionOf(PAGE, 'Staged tables');
    const [more, less] = ['read_number', 'mirrored_at'];
    const staged = namesOf('table').filter((name) => isStaged({ name }));
    expect(codeIn(text)).toEqual([...staged.sort(byPlaceIn(text)), less, more]);
    for (const name of staged) {
      const own = columnsOf(name.replace(/_staged$/, '')).map((column) => column.name);
      expect(columnsOf(name).map((column) => column.name)).toEqual(
        expect.arrayContaining([...own.filter((column) => column !== less), more]),
      );
      expect(columnsOf(name)).toHaveLength(own.length);
    }
  });
});

describe('the dictionary of tables and views', () => {
  test('it has exactly the tables and views of a mirror', () => {
    const names = [...namesOf('table').filter((name) => isOurs(name) && !isStaged({ name })), ...namesOf('view')];
    expect(DICTIONARY.map(({ name }) => name).sort()).toEqual(names.sort());
  });

  test.each(DICTIONARY.map((table) => [table.name, table] as const))(
    'it describes %s in a sentence, and every column without a link or a final period',
    (_, { description, columns }) => {
      expect(description).toMatch(/^[A-Z].*\.$/);
      for (const column of columns) expect(column.description).toMatch(/^[a-zA-Z0-9`].*[^.]$/);
      for (const text of [description, ...columns.map((column) => column.description)])
        expect(text).not.toMatch(/\]\(|[|\n]/);
    },
  );

  test.each(DESCRIBED.map((table) => [table.name, table] as const))(
    'it has the columns of %s in the order and with the types of a mirror',
    (name, { kind, columns }) => {
      const found = columnsOf(name).map((column) => [column.name, kind === 'table' ? column.type : null]);
      expect(columns.map((column) => [column.name, column.type])).toEqual(found);
    },
  );

  test.each(DICTIONARY.filter(({ kind }) => kind === 'table').map(({ name, key }) => [name, key] as const))(
    'it has the key of %s',
    (name, key) => {
      const parts = columnsOf(name).filter(({ pk }) => pk > 0);
      expect(key).toEqual(parts.sort((a, b) => a.pk - b.pk).map((column) => column.name));
    },
  );

  test('it names every value that a state column may have', () => {
    for (const table of STATE_TABLES)
      for (const { name, enumValues = [] } of Object.values(getTableColumns(table))) {
        const column = descriptionOf(table).columns.find((each) => each.name === name);
        expect(codeIn(column?.description ?? ''), `${getTableName(table)}.${name}`).toEqual(
          expect.arrayContaining(enumValues),
        );
      }
  });
});

describe('the metrics of the dictionary', () => {
  test.each(Object.entries(METRICS))('the expression runs on its view: %s', (_, { view, expression }) => {
    const sql = `select ${expression} from ${view} group by env_id`;
    expect(mirror.connection.prepare(sql).all()).toEqual([]);
  });
});

describe('the reasons of a stream’s mode', () => {
  const program = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(ROOT, 'src', name), 'utf8'))
    .join('\n');
  const documented = rowsOf(sectionOf(PAGE, 'Reasons')).flatMap(([reasons = '']) => codeIn(reasons));

  test('every reason for a round is documented', () => {
    const [, union = ''] = /^export type RoundReason =((?:\s*\|.*\n)+)/m.exec(program) ?? [];
    const reasons = [...union.matchAll(/\| '([^']+)'/g)].map(([, reason]) => reason);
    expect(reasons.length).toBeGreaterThan(5);
    expect(documented).toEqual(expect.arrayContaining(reasons));
  });

  test.each(documented)('every documented reason exists: %s', (reason) => {
    expect(program).toContain(`'${reason}'`);
  });
});

function byPlaceIn(text: string): (a: string, b: string) => number {
  return (a, b) => text.indexOf(`\`${a}\``) - text.indexOf(`\`${b}\``);
}
