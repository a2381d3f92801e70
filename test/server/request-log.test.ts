import type { FastifyReply, FastifyRequest } from 'fastify';
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { rootToken } from '../../src/server/access.ts';
import { openRequestLog } from '../../src/server/request-log.ts';

const lines: Record<string, unknown>[] = [];
beforeEach(() => void lines.splice(0));

function openLog(level = 'info') {
  const log = pino({ level, base: null, timestamp: false }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const { note, writeCounts } = openRequestLog(log);
  const answered = (ip: string, statusCode = 401, token: string | null = null): void => {
    const reader = token === null ? null : rootToken(token, token).reader;
    const request = { method: 'GET', url: '/x?secret', ip, reader, log } as unknown as FastifyRequest;
    note(request, { statusCode, elapsedTime: 1.23 } as FastifyReply);
  };
  return { answered, writeCounts };
}

const times = (count: number, each: (i: number) => void) => Array.from({ length: count }, (_, i) => each(i));

test('every request with a valid token is logged', () => {
  const { answered } = openLog();
  times(3, () => answered('10.0.0.1', 200, 'all'));
  expect(lines).toMatchObject(Array(3).fill({ path: '/x', reader: 'all', status: 200, ms: 1.2, msg: 'request' }));
});

test('requests of a client without a token are counted in one line a minute', () => {
  const { answered, writeCounts } = openLog();
  for (const ip of ['2001:db8::1', '2001:db8::2', '10.0.0.1', '2001:db8::3']) answered(ip);
  expect(lines).toMatchObject([{ client: '2001:db8:0:0::/64', msg: 'request' }, { client: '10.0.0.1' }]);
  writeCounts();
  answered('2001:db8::1');
  writeCounts();
  expect(lines.slice(2)).toMatchObject([
    { client: '2001:db8:0:0::/64', requests_by_status: { 401: 2 }, msg: 'more requests' },
    { client: '2001:db8:0:0::/64', requests_by_status: { 401: 1 } },
  ]);
  writeCounts();
  answered('2001:db8::1');
  expect(lines.at(-1)).toMatchObject({ client: '2001:db8:0:0::/64', status: 401, msg: 'request' });
});

test('requests of a token beyond its quota are counted in one line a minute', () => {
  const { answered, writeCounts } = openLog();
  times(3, () => answered('10.0.0.1', 429, 'all'));
  writeCounts();
  expect(lines).toMatchObject([{ status: 429 }, { client: 'all', requests_by_status: { 429: 2 } }]);
});

test('clients beyond the limit are counted together', () => {
  const { answered, writeCounts } = openLog();
  times(3000, (i) => answered(`10.0.${i >> 8}.${i & 255}`));
  writeCounts();
  expect(lines).toHaveLength(1002);
  expect(lines.at(-1)).toMatchObject({ client: 'others', requests_by_status: { 401: 1999 } });
});

test('at debug every request is logged', () => {
  const { answered } = openLog('debug');
  times(3, () => answered('10.0.0.1'));
  expect(lines).toHaveLength(3);
});
