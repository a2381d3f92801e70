import { text } from 'node:stream/consumers';
import { SyncError } from '../core/errors.ts';
import { openForReading } from '../destination/sqlite/open.ts';
import type { Io, RunCommand } from './command.ts';
import { STDIN } from './options.ts';
import { print } from './print.ts';
import { type Reading, readStatement } from './read-statement.ts';
import { csvText, jsonText, ndjsonText } from './rows-text.ts';
import { tableText } from './rows-view.ts';
import { widthOf } from './screen.ts';
import { readTextFile } from './settings.ts';

export const query: RunCommand = async (args, io) => {
  const sql = await statementOf(args['sql'] as string | undefined, args['file'] as string | undefined);
  const mirror = openForReading(args['db'] as string);
  try {
    await answer(readStatement(mirror, sql), args['format'] as string | undefined, io);
    return 0;
  } finally {
    mirror.connection.close();
  }
};

/** @throws SyncError `usage` where there is none, or two */
async function statementOf(sql: string | undefined, file: string | undefined): Promise<string> {
  if (sql !== undefined && file !== undefined)
    throw new SyncError('usage', `query takes one SQL statement: this is one, and there is one in ${file}`);
  if (isStdin(file)) return text(process.stdin);
  if (file !== undefined) return readTextFile(file);
  if (sql === undefined)
    throw new SyncError(
      'usage',
      'query takes one SQL statement: write it in quotes, name its file with -f, or write - (or -f -) to read it from stdin',
    );
  return isStdin(sql) ? text(process.stdin) : sql;
}

const isStdin = (word: string | undefined): boolean => word?.trim() === STDIN;

async function answer(reading: Reading, format: string | undefined, io: Io): Promise<void> {
  try {
    await print(textOf(reading, format, io), process.stdout);
  } finally {
    reading.close();
  }
}

function textOf({ columns, rows }: Reading, format: string | undefined, io: Io): Iterable<string> {
  switch (format ?? (io.outIsTerminal ? 'table' : 'csv')) {
    case 'csv':
      return csvText(columns, rows);
    case 'json':
      return jsonText(columns, rows);
    case 'ndjson':
      return ndjsonText(columns, rows);
    default:
      return tableText(columns, rows, widthOf(process.stdout, io.outIsTerminal));
  }
}
