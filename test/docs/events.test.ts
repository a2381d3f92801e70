import { expect, test } from 'vitest';
import type { DoctorEvent, ExportEvent, ScheduleEvent, SyncEvent, VerifyEvent } from '../../src/index.ts';
import { nameIn, readDocument, rowsOf, sectionOf } from './documents.ts';

type LibraryEvent = SyncEvent | ScheduleEvent | VerifyEvent | ExportEvent | DoctorEvent;

type EventMembers = {
  readonly [Type in LibraryEvent['type']]: Readonly<
    Record<Exclude<keyof Extract<LibraryEvent, { type: Type }>, 'type'>, true>
  >;
};

type CounterName = keyof Extract<LibraryEvent, { type: 'stream' }>['counters'];

/** The compiler requires every member of every event here, and rejects others. */
const MEMBERS: EventMembers = {
  request: { path: true, query: true, status: true, durationMs: true },
  wait: { reason: true, delayMs: true, about: true },
  unshared: { reason: true },
  environments: { environments: true, missing: true },
  stream: { environment: true, stream: true, counters: true },
  alerts: { delivered: true, failed: true, error: true },
  ended: { environment: true, summary: true, error: true },
  log: { level: true, message: true },
  serving: { server: true },
  run: { summary: true },
  progress: { requests: true, streamsDone: true, streams: true },
  failure: { error: true },
  table: { table: true, rows: true },
  check: { check: true, status: true, text: true, advice: true },
};

const COUNTERS: Readonly<Record<CounterName, true>> = {
  mode: true,
  reason: true,
  requests: true,
  pages: true,
  rows: true,
  late: true,
  written: true,
  deleted: true,
  rejected: true,
};

const DOCUMENT = readDocument('docs/library.md');

test('docs/library.md has exactly the members of the events', () => {
  // The section of the counters is nested in that of the events.
  const rows = rowsOf(sectionOf(DOCUMENT, 'Events')).filter((cells) => cells.length === 3);
  const members = Object.entries(MEMBERS).flatMap(([type, each]) => Object.keys(each).map((member) => [type, member]));
  expect(rows.map(([type, member]) => [nameIn(type), nameIn(member)])).toEqual(members);
});

test('docs/library.md has exactly the counters of a stream', () => {
  const rows = rowsOf(sectionOf(DOCUMENT, 'Counters'));
  expect(rows.map(([counter]) => nameIn(counter))).toEqual(Object.keys(COUNTERS));
});
