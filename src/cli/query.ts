import { text } from 'node:stream/consumers';
import { type QueryResult, query } from '../api/query.ts';
import { closeAfter } from '../core/close-after.ts';
import { usageError } from '../core/errors.ts';
import { readTextFile } from '../settings/read-text-file.ts';
import { type CommandAction, type CommandIo, STDIO, stdoutWidth } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { print } from './print.ts';
import { csvText, jsonText, ndjsonText } from './rows-text.ts';
import { tableText } from './rows-view.ts';

export const queryCommand: CommandAction = async (args, io) => {
  const sql = await statementOf(args['sql'] as string | undefined, args['file'] as string | undefined, io);
  return closeAfter(await query({ ...libraryOptions(args), sql, bigints: true }), async (result) => {
    await print(textOf(result, args['format'] as string | undefined, io), io.stdout);
    return 0;
  });
};

/** @throws SyncError `usage` if there is no statement, or more than one */
async function statementOf(sql: string | undefined, file: string | undefined, io: CommandIo): Promise<string> {
  if (sql !== undefined && file !== undefined)
    throw usageError(`query takes one SQL statement, but one is an argument and one is in ${file}: remove one of them`);
  if (file === STDIO || sql === STDIO) return text(io.stdin);
  if (file !== undefined) return readTextFile(file);
  if (sql === undefined)
    throw usageError(
      'query takes one SQL statement: write it in quotes, name its file with -f, or write - (or -f -) to read it from stdin',
    );
  return sql;
}

function textOf({ columns, portions }: QueryResult, format: string | undefined, io: CommandIo): AsyncIterable<string> {
  const name = format ?? (io.stdout.isTTY === true ? 'table' : 'csv');
  if (name === 'csv') return csvText(columns, portions);
  if (name === 'json') return jsonText(columns, portions);
  if (name === 'ndjson') return ndjsonText(columns, portions);
  return tableText(columns, portions, stdoutWidth(io));
}
