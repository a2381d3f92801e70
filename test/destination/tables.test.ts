import { expect, test } from 'vitest';
import { shapeOf } from '../../src/destination/sqlite/shape.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';

test.each(CATALOGUE)(
  'every table that $name names is in the schema, with the columns that it writes there',
  (stream) => {
    const { table, staged, parts = [], archives = [], owners, leader, takes, doubts } = stream;
    const others = [...archives, ...owners, leader, takes, doubts].flatMap((each) => each?.table ?? []);
    for (const name of [table, staged, ...parts.flatMap((part) => [part.table, part.staged]), ...others])
      if (name !== undefined) expect(shapeOf(name).name).toBe(name);
    for (const field of stream.writes ?? Object.keys(stream.fields)) expect(shapeOf(table).columns).toContain(field);
  },
);

test('a table that is not in the schema is refused', () => {
  expect(() => shapeOf('nowhere')).toThrow('no table nowhere');
});
