import { openForReading } from '../destination/sqlite/open.ts';
import type { Command, Io } from './command.ts';
import { pick } from './options.ts';
import { print } from './print.ts';
import { type Reading, readStatement } from './read-statement.ts';
import { csvText, jsonText, ndjsonText } from './rows-text.ts';
import { renderTable } from './rows-view.ts';

export const query: Command = {
  name: 'query',
  describe: 'ask the mirror with one SQL statement that only reads',
  options: pick('db', 'format', 'config'),
  argument: { name: 'sql', describe: 'such as "select * from failing_tests"' },
  async run(args, io) {
    const mirror = openForReading(args['db'] as string);
    try {
      await answer(readStatement(mirror, String(args['sql'])), args['format'] as string | undefined, io);
      return 0;
    } finally {
      mirror.connection.close();
    }
  },
};

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
      return [`${renderTable(columns, [...rows], io.outIsTerminal ? process.stdout.columns : null)}\n`];
  }
}
