import { deflateRawSync } from 'node:zlib';
import { closeWritten } from '../../src/destination/sqlite/close.ts';
import { type MirrorFile, openForReading } from '../../src/destination/sqlite/open.ts';
import type { AnswerName } from '../../src/page/page-source.ts';
import { createRecordedSource } from '../../src/page/recorded-source.ts';
import type { RecordedAnswer } from '../../src/page-data/page-data.ts';
import type { PageScope } from '../../src/page-data/page-scope.ts';
import type { SqlRow } from '../../src/page-data/sql.ts';
import { openMirrorReads } from '../../src/server/mirror-reads.ts';
import { newMirror } from '../server/fixture.ts';
import { fillWorld } from './world.ts';

/** Asks a report that has these answers, as the page does; undefined for a problem. */
export function reportOf(answers: readonly RecordedAnswer[]) {
  const source = createRecordedSource(deflateRawSync(JSON.stringify(answers)).toString('base64'));
  return async <Name extends AnswerName>(name: Name, parameters: Readonly<Record<string, string>>) => {
    const question = { name, env: 'e', parameters };
    const reply = await source.fetch(question, { tag: null, signal: new AbortController().signal });
    return reply.kind === 'answer' ? reply.data : undefined;
  };
}

export const ALL: Omit<PageScope, 'reads'> = { env: 'e', limit: null, seesTests: true };

/** A mirror with the environment `e`, and functions to read it as the page does and by SQL. */
export function mirrorOf(fill: (writing: MirrorFile) => void = fillWorld) {
  const writing = newMirror(fill);
  const { path } = writing;
  closeWritten(writing);
  const seen = <Found>(look: (scope: PageScope) => Found): Found => {
    const mirror = openForReading(path);
    try {
      return openMirrorReads(mirror).read((reads) => look({ ...ALL, reads }));
    } finally {
      mirror.connection.close();
    }
  };
  const rows = (sql: string): readonly SqlRow[] => seen(({ reads }) => reads.rows({ sql, values: {} }));
  return { path, seen, rows };
}
