import { expect, test } from 'vitest';
import { openInMemory } from './mirror-files.ts';

const INSERT = "insert into mirror_environments (env_id, mirrored_at) values ('e1', '')";
const COUNT = 'select (select count(*) from mirror_environments) + (select count(*) from sync_runs) as count';
const BEGIN_RUN = `insert into sync_runs (cycle_id, status, started_at) values (0, 'running', '') returning id`;

test('a mirror in memory starts empty, even if a transaction of an earlier one was open', () => {
  for (let nth = 0; nth < 2; nth++) {
    const { opened, close } = openInMemory(1000);
    expect(opened.prepare(COUNT).get()).toEqual({ count: 0 });
    opened.transactions.write(() => {
      opened.prepare(INSERT).run();
      expect(opened.prepare(BEGIN_RUN).get()).toEqual({ id: 1 });
      return { isQuiet: true };
    });
    close();
  }
});

test('a closed mirror in memory refuses to write into the next one', () => {
  const { opened: closed, close } = openInMemory(0);
  close();
  const next = openInMemory(0);
  expect(() => closed.transactions.write(() => ({ isQuiet: false }))).toThrow('closed');
  expect(() => closed.connection.transaction(() => undefined)()).toThrow('closed');
  expect(() => closed.prepare(INSERT)).toThrow('closed');
  next.close();
});
