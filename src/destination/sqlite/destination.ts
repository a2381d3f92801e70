import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { rejectedRows, seenKeys, testExecutionGaps, testReadings } from '../../../schema/sync.ts';
import { loadCheckpoint, loadCheckpoints, saveCheckpoint } from '../../../state/checkpoint-store.ts';
import { type Decoded, joinKey } from '../../core/decode.ts';
import type { Commit, Counts, Destination } from '../../core/destination.ts';
import { after, type Instant } from '../../core/instant.ts';
import type { Row, Stream, StreamName } from '../../core/stream.ts';
import { fileError } from './file-error.ts';
import { lookups } from './lookups.ts';
import type { MirrorFile } from './open.ts';
import { statements } from './prepared.ts';
import { settling } from './settle.ts';
import { quote, shapeOf } from './shape.ts';
import { writer } from './write-changes.ts';

/** Whose part of the mirror is written, in which run, by which clock. */
export interface Writing {
  readonly envId: string;
  readonly run: number;
  readonly clock: () => Instant;
}

/** One environment's part of an SQLite mirror. */
export function createDestination(mirror: MirrorFile, { envId, run, clock }: Writing): Destination {
  const { connection, db } = mirror;
  const prepare = statements(connection);
  let mirroredAt = '';
  const write = writer(connection, envId, () => mirroredAt);
  const look = lookups(connection, envId);
  const { settle, release, remove, weigh } = settling(connection, envId, write);

  /** The mirror's own time never runs backwards, whatever the machine's clock does (R21). */
  function tick(): void {
    const last = prepare('select mirrored_at from mirror').pluck().get() as Instant;
    const now = clock();
    mirroredAt = now > last ? now : after(last);
    write.run('update mirror set mirrored_at = ?', mirroredAt);
  }

  function stage(stream: Stream, { rows, readNumber }: NonNullable<Commit['staged']>): void {
    const added = { read_number: readNumber };
    write.rows(
      stream.staged as SQLiteTable,
      'replace',
      rows.map((row) => row.row),
      added,
    );
    stream.parts?.forEach((part, i) => {
      write.rows(
        part.staged as SQLiteTable,
        'replace',
        rows.flatMap((row) => row.parts[i] ?? []),
        added,
      );
    });
  }

  /** Into the archive tables, or for a stream that is itself one, into its own (R17). */
  function archive(stream: Stream, rows: readonly Decoded[]): number {
    const own = rows.map((row) => row.row);
    if (stream.archives === undefined) return write.rows(stream.table as SQLiteTable, 'keep-newer', own);
    for (const { table, constants = {} } of stream.archives) {
      write.rows(
        table as SQLiteTable,
        'keep-newer',
        own.map((row) => ({ ...row, ...constants })),
      );
      write.rows(
        table as SQLiteTable,
        'keep-newer',
        rows.flatMap((row) => row.parts.flat()),
      );
    }
    return 0;
  }

  function see(stream: Stream, { keys, readNumber }: NonNullable<Commit['seen']>): void {
    const rows = keys.map(([first = '', second = '']): Row => ({ key_1: first, key_2: second }));
    write.rows(seenKeys, 'ignore', rows, { stream: stream.name, read_number: readNumber });
  }

  /** A row that is shown is neither rejected any more nor held back (R14, R20). */
  function clearShown(stream: Stream, keys: NonNullable<Commit['shown']>): void {
    for (const [table, key] of [
      ['rejected_rows', 'row_key'],
      ['held_removals', 'key_1'],
    ] as const) {
      const any = prepare(`select 1 from ${table} where env_id = ? and stream = ? limit 1`).get(envId, stream.name);
      if (any === undefined) continue;
      const joined = JSON.stringify(keys.map(joinKey));
      write.run(
        `delete from ${table} where env_id = ? and stream = ? and ${key} in (select value from json_each(?))`,
        envId,
        stream.name,
        joined,
      );
    }
  }

  function reject(stream: Stream, rejected: NonNullable<Commit['rejected']>): void {
    const rows = rejected.map(({ rowKey, reason, payload }): Row => ({ row_key: rowKey, reason, payload }));
    write.rows(rejectedRows, 'replace', rows, { stream: stream.name, run_id: run, seen_at: mirroredAt });
  }

  function pay(stream: Stream, { ids, lastMark }: NonNullable<Commit['paid']>): void {
    const sql =
      'delete from marks where env_id = ? and stream = ? and id in (select value from json_each(?)) and number <= ?';
    write.run(sql, envId, stream.name, JSON.stringify(ids), lastMark ?? Number.MAX_SAFE_INTEGER);
  }

  function disown(
    stream: Stream,
    { by, ids, sinceRead, at }: NonNullable<Commit['disowned']>,
    marking: ReadonlySet<StreamName>,
  ) {
    const unseen = `not exists (select 1 from seen_keys s where s.env_id = t.env_id and s.stream = '${stream.name}'
      and s.key_1 = t.id and s.read_number >= ?)`;
    const sql = `t.${quote(by)} in (select value from json_each(?)) and ${unseen}`;
    return remove(stream, { sql, values: [JSON.stringify(ids), sinceRead] }, at, marking);
  }

  function read({ testId, readAt, mirroredAt: began, gap }: NonNullable<Commit['reading']>): void {
    write.rows(testReadings, 'replace', [{ test_id: testId, read_at: readAt, mirrored_at: began }], {
      mirrored_at: began,
    });
    if (gap !== null)
      write.rows(testExecutionGaps, 'ignore', [{ test_id: testId, gap_from: gap.from, gap_to: gap.to }]);
  }

  /** Drops what a read, or all of a round, saw and gathered (R7). */
  function forget(stream: Stream, which: number | 'all'): void {
    const gathered = [stream.staged, ...(stream.parts ?? []).map((part) => part.staged)].flatMap((table) =>
      table ? [table as SQLiteTable] : [],
    );
    const number = which === 'all' ? [] : [which];
    const only = which === 'all' ? '' : 'and read_number = ?';
    for (const table of gathered)
      write.run(`delete from ${quote(shapeOf(table).name)} where env_id = ? ${only}`, envId, ...number);
    write.run(`delete from seen_keys where env_id = ? and stream = ? ${only}`, envId, stream.name, ...number);
  }

  /** The parts of a commit in the order in which they must be written. */
  function apply(stream: Stream, commit: Commit, marking: ReadonlySet<StreamName>): Counts {
    tick();
    const done = [write.changes(stream, commit.changes ?? [])];
    write.marks(commit.marks ?? [], marking);
    if (commit.staged) stage(stream, commit.staged);
    if (commit.archived) done.push({ written: archive(stream, commit.archived), deleted: 0 });
    if (commit.seen) see(stream, commit.seen);
    if (commit.shown?.length) clearShown(stream, commit.shown);
    if (commit.rejected?.length) reject(stream, commit.rejected);
    if (commit.disowned) done.push(disown(stream, commit.disowned, marking));
    if (commit.paid) pay(stream, commit.paid);
    if (commit.reading) read(commit.reading);
    if (commit.settle)
      done.push(settle(stream, { ...commit.settle, at: commit.settle.sweep?.at ?? mirroredAt }, marking));
    if (commit.settle || commit.forget !== undefined)
      forget(stream, commit.settle ? 'all' : (commit.forget as number | 'all'));
    if (commit.release) done.push(release(stream, marking));
    saveCheckpoint(db, envId, stream.name, commit.checkpoint);
    return {
      written: done.reduce((sum, counts) => sum + counts.written, 0),
      deleted: done.reduce((sum, counts) => sum + counts.deleted, 0),
      rejected: commit.rejected?.length ?? 0,
    };
  }

  const inTransaction = connection.transaction(apply);
  const facing =
    <Given extends unknown[], Found>(look: (...given: Given) => Found) =>
    (...given: Given): Found => {
      try {
        return look(...given);
      } catch (error) {
        throw fileError(mirror.path, error);
      }
    };

  return {
    load: facing((stream: StreamName) => loadCheckpoint(db, envId, stream)),
    facts: facing((stream: Stream, since: Instant | null) => ({
      rows: look.rows(stream),
      marks: look.marks(stream, since),
      lastMark: prepare('select last_mark from mirror').pluck().get() as number,
      checkpoints: loadCheckpoints(db, envId),
    })),
    held: facing(look.held),
    owed: facing(look.owed),
    dueTest: facing((_stream: Stream, afterId: string) => look.dueTest(afterId)),
    heldBack: facing(look.heldBack),
    weigh: facing(weigh),
    commit: facing(inTransaction.immediate),
  };
}
