import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addDays,
  addSeconds,
  instantOfMs,
  after as justAfter,
  parseInstant,
  sameHour,
  secondsBetween,
} from '../../../src/core/time/instant.ts';

describe('parseInstant (R4)', () => {
  test.each([
    ['2026-11-20T04:10:00Z', '2026-11-20T04:10:00.000000Z'],
    ['2026-11-20T04:10:00.123456Z', '2026-11-20T04:10:00.123456Z'],
    ['2026-11-20t04:10:00z', '2026-11-20T04:10:00.000000Z'],
    ['2026-11-20 04:10:00', '2026-11-20T04:10:00.000000Z'],
    ['2026-11-20T04:10:00,5Z', '2026-11-20T04:10:00.500000Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000000Z'],
    ['2026-12-31T23:59:59.999999999Z', '2026-12-31T23:59:59.999999Z'],
  ])('%s becomes %s', (sent, kept) => {
    expect(parseInstant(sent)).toBe(kept);
  });

  test.each(['1970-01-01T00:00:00', '2026-11-20T04:10:00.25'])('%s without a zone is UTC', (sent) => {
    expect(parseInstant(sent)).toBe(parseInstant(`${sent}Z`));
  });

  test.each([
    ['+00:00', '2026-11-20T04:10:00.000001Z'],
    ['+02:00', '2026-11-20T02:10:00.000001Z'],
    ['+0530', '2026-11-19T22:40:00.000001Z'],
    ['-08', '2026-11-20T12:10:00.000001Z'],
    [' -23:59', '2026-11-21T04:09:00.000001Z'],
  ])('the zone %s is converted to UTC, and the microseconds are preserved', (zone, kept) => {
    expect(parseInstant(`2026-11-20T04:10:00.000001${zone}`)).toBe(kept);
  });

  test.each(Array.from({ length: 21 }, (_, digits) => digits))('a fraction of %i digits is cut to six', (digits) => {
    const fraction = '98765432109876543210'.slice(0, digits);
    const kept = `2026-11-20T04:10:00.${fraction.slice(0, 6).padEnd(6, '0')}Z`;
    const sent = `2026-11-20T04:10:00${digits === 0 ? '' : `.${fraction}`}`;
    expect([parseInstant(`${sent}Z`), parseInstant(sent), parseInstant(`${sent}+00:00`)]).toEqual([kept, kept, kept]);
  });

  test.each([
    '',
    'yesterday',
    '1795147800',
    '2026-11-20',
    '2026-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-11-20T24:00:00Z',
    '2026-11-20T25:00:00Z',
    '2026-11-20T04:60:00Z',
    '2026-11-20T04:10:60Z',
    '2026-11-20T04:10Z',
    '2026-11-20T04:10:00.Z',
    '2026-12-31T23:59:60+01:00',
    '2026-12-31T22:59:61Z',
    '9999-12-31T23:59:60Z',
    '2026-11-20T04:10:00+25:00',
    '2026-11-20T04:10:00+01:60',
    '2026-11-20T04:10:00 UTC',
    '2026-11-20T04:10:00Z\n',
    '12026-11-20T04:10:00Z',
    '6-11-20T04:10:00Z',
    'year-11-20T04:10:00Z',
    '0000-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
  ])('%j is not an instant', (sent) => {
    expect(parseInstant(sent)).toBeNull();
  });

  test.each([
    ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000000Z'],
    ['2016-12-31T23:59:60.75', '2017-01-01T00:00:00.750000Z'],
    ['2017-01-01T05:29:60.000001+05:30', '2017-01-01T00:00:00.000001Z'],
  ])('the leap second %s becomes the next second: %s', (sent, kept) => {
    expect(parseInstant(sent)).toBe(kept);
  });

  test('a letter in place of any digit makes a timestamp invalid', () => {
    const sent = '2026-11-18T14:10:05Z';
    const spoilt = [...sent.matchAll(/\d/g)].map(({ index }) => `${sent.slice(0, index)}x${sent.slice(index + 1)}`);
    expect(spoilt.map(parseInstant)).toEqual(Array(14).fill(null));
  });

  test('a zone may lead up to the first and the last moment of the four-digit years', () => {
    expect(parseInstant('0000-01-01T01:00:00+01:00')).toBe('0000-01-01T00:00:00.000000Z');
    expect(parseInstant('9999-12-31T22:59:59.9-01:00')).toBe('9999-12-31T23:59:59.900000Z');
  });

  test('exactly the dates of the calendar are accepted, as Date reads them', () => {
    fc.assert(
      fc.property(fc.nat(9999), fc.nat(13), fc.nat(32), fc.nat(24), (year, month, day, hour) => {
        const two = (part: number) => String(part).padStart(2, '0');
        const date = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
        const at = new Date(`${date}T00:00:00Z`);
        const real = hour < 24 && !Number.isNaN(at.getTime()) && at.toISOString().startsWith(date);
        const sent = `${date}T${two(hour)}:59:59`;
        expect(parseInstant(`${sent}.5Z`)).toBe(real ? `${sent}.500000Z` : null);
      }),
      { numRuns: 2000 },
    );
  });

  test('text order is time order, across zones and fractions', () => {
    const moment = fc.record({
      ms: fc.integer({ min: Date.parse('0001-01-03T00:00:00Z'), max: Date.parse('9999-12-29T00:00:00Z') }),
      zoneMinutes: fc.integer({ min: -1439, max: 1439 }),
      micros: fc.integer({ min: 0, max: 999 }),
    });
    const sentAs = ({ ms, zoneMinutes, micros }: { ms: number; zoneMinutes: number; micros: number }): string => {
      const local = new Date(ms + zoneMinutes * 60_000).toISOString().slice(0, 23);
      const zone = new Date(Math.abs(zoneMinutes) * 60_000).toISOString().slice(11, 16);
      return `${local}${String(micros).padStart(3, '0')}${zoneMinutes < 0 ? '-' : '+'}${zone}`;
    };
    fc.assert(
      fc.property(moment, moment, (a, b) => {
        const [x, y] = [parseInstant(sentAs(a)) as string, parseInstant(sentAs(b)) as string];
        expect(x).toHaveLength(27);
        expect(Math.sign(x < y ? -1 : x > y ? 1 : 0)).toBe(Math.sign(a.ms - b.ms || a.micros - b.micros));
      }),
    );
  });
});

describe('arithmetic on instants', () => {
  test('adding time preserves the microseconds', () => {
    expect(addSeconds('2026-11-20T04:10:00.123456Z', -3600)).toBe('2026-11-20T03:10:00.123456Z');
    expect(addSeconds('2026-12-31T23:59:59.999999Z', 1)).toBe('2027-01-01T00:00:00.999999Z');
    expect(addDays('2026-11-20T04:10:00.000001Z', -89)).toBe('2026-08-23T04:10:00.000001Z');
    expect(addDays('2026-11-20T04:10:00.000001Z', 0.5)).toBe('2026-11-20T16:10:00.000001Z');
  });

  test('a result stays within the four-digit years, so text order stays time order', () => {
    expect(addDays('2026-11-20T04:10:00.123456Z', 1e12)).toBe('9999-12-31T23:59:59.123456Z');
    expect(addDays('2026-11-20T04:10:00.123456Z', -1e12)).toBe('0000-01-01T00:00:00.123456Z');
  });

  test('justAfter is the next microsecond, even across a second', () => {
    expect(justAfter('2026-11-20T04:10:00.123456Z')).toBe('2026-11-20T04:10:00.123457Z');
    expect(justAfter('2026-11-20T04:10:00.000009Z')).toBe('2026-11-20T04:10:00.000010Z');
    expect(justAfter('2026-12-31T23:59:59.999999Z')).toBe('2027-01-01T00:00:00.000000Z');
  });

  test('secondsBetween is negative if the second instant is earlier', () => {
    expect(secondsBetween('2026-11-20T04:10:00.000000Z', '2026-11-20T04:10:01.500000Z')).toBe(1.5);
    expect(secondsBetween('2026-11-20T04:10:01.500000Z', '2026-11-20T04:10:00.000000Z')).toBe(-1.5);
  });

  test('sameHour ends with the last microsecond of the hour', () => {
    expect(sameHour('2026-11-20T04:00:00.000000Z', '2026-11-20T04:59:59.999999Z')).toBe(true);
    expect(sameHour('2026-11-20T04:59:59.999999Z', '2026-11-20T05:00:00.000000Z')).toBe(false);
    expect(sameHour('2026-11-20T04:00:00.000000Z', '2026-11-19T04:00:00.000000Z')).toBe(false);
  });

  test('instantOfMs converts milliseconds since 1970', () => {
    expect(instantOfMs(Date.parse('2026-11-20T04:10:00.123Z') + 0.9)).toBe('2026-11-20T04:10:00.123000Z');
  });
});
