import { describe, expect, test } from 'vitest';
import type { PageRequest } from '../../src/core/ports/source.ts';
import type { Reply, ScriptedStep, Step } from '../support/api-server.ts';
import { failureOf, setUp } from './setup.ts';

const error503: Reply = { status: 503, body: '<html>down</html>' };
const list = (path: string): PageRequest => ({ path: path.split('/'), query: { limit: 2000 }, cursor: null });
const MANY = ['e1/assets', 'e1/columns', 'e1/tests', 'e2/assets', 'e2/columns', 'e2/tests', 'e3/assets', 'e3/columns'];
const listed: ScriptedStep = { body: [{ id: 'e1' }, { id: 'e2' }, { id: 'e3' }] };

describe('an outage', () => {
  test.each<[string, Step]>([
    ['5xx', error503],
    ['cut connections', 'reset'],
    ['maintenance pages', { body: '<html>closed</html>' }],
  ])('the run ends with one message when several lists and all probes meet %s (R24)', async (_, step) => {
    const { server, source } = await setUp([listed, step], { retries: 2, concurrency: 4 });
    await source.environments();
    const failures = await Promise.all(MANY.map((path) => failureOf(source.page(list(path)))));
    expect(new Set(failures.map(({ recovery }) => recovery))).toEqual(new Set(['run']));
    expect(new Set(failures.map(({ message }) => message)).size).toBe(1);
    expect(failures[0]?.message).toMatch(
      /^The service is not available: .* 3 probes, the last one GET .* Run again when it is back\.$/,
    );
    // One for the environments, four in flight, two replacing the first failures, and three probes.
    expect(server.requests.length).toBe(10);
  });

  test('the run ends when several lists and all probes time out (R24)', async () => {
    const { source } = await setUp([listed, 'hang'], { retries: 1, timeoutMs: 30 });
    await source.environments();
    const failures = await Promise.all(MANY.map((path) => failureOf(source.page(list(path)))));
    expect(failures.map(({ recovery }) => recovery)).toEqual(MANY.map(() => 'run'));
  });

  test('one probe at a time is sent, each to another list, while everything else waits (R24)', async () => {
    const { server, source } = await setUp([listed, error503], { retries: 3, concurrency: 4 });
    await source.environments();
    await Promise.all(MANY.map((path) => failureOf(source.page(list(path)))));
    const probes = server.requests.slice(7).map(({ target }) => target.slice('/public/beta/'.length));
    expect(probes).toHaveLength(4);
    expect(probes.every((target) => target.endsWith('?limit=1'))).toBe(true);
    expect(new Set(probes).size).toBe(4);
  });

  test('probes that fail while pages are refused reveal an outage as failed pages do (R24)', async () => {
    const refused: Reply = { status: 429, headers: { 'retry-after': '1' } };
    const answer: ScriptedStep = ({ target }) => (target.endsWith('limit=1') ? error503 : refused);
    const { server, source } = await setUp([listed, answer], { retries: 3, concurrency: 1 });
    await source.environments();
    const failures = await Promise.all(MANY.map((path) => failureOf(source.page(list(path)))));
    expect(new Set(failures.map(({ recovery }) => recovery))).toEqual(new Set(['run']));
    const probes = server.requests.filter(({ target }) => target.endsWith('limit=1'));
    // Three reveal the outage, then the four tries of its probe fail.
    expect(probes).toHaveLength(7);
  });

  test('a probe waits as long as a 503 asks for (R24)', async () => {
    const asks: Reply = { ...error503, headers: { 'retry-after': '20' } };
    const { source, time } = await setUp([listed, asks], { retries: 1, concurrency: 1 });
    await source.environments();
    await Promise.all(MANY.map((path) => failureOf(source.page(list(path)))));
    expect(time.slept.at(-1)).toBe(20_000);
  });

  test('every page is read once the service answers again (R24)', async () => {
    const down: Step[] = Array.from({ length: 6 }, () => error503);
    const { source } = await setUp([listed, ...down, {}], { retries: 3, concurrency: 4 });
    await source.environments();
    const pages = await Promise.all(MANY.map((path) => source.page(list(path))));
    expect(pages.map(({ items }) => items)).toEqual(MANY.map(() => []));
  });

  test('a response to a request in flight ends the outage too (R24)', async () => {
    const late = Promise.withResolvers<void>();
    const { server, source } = await setUp(
      [listed, {}, ({ target }) => (target.includes('e2/assets') ? late.promise.then(() => ({})) : error503)],
      { retries: 1, concurrency: 4 },
    );
    await source.environments();
    await source.page(list('e1/assets'));
    const ends = ['e2/assets', 'e1/columns', 'e1/tests', 'e1/assets'].map((path) =>
      source.page(list(path)).then(
        () => 'answered',
        (error: { recovery: string }) => error.recovery,
      ),
    );
    await server.received(6);
    server.script({});
    late.resolve();
    expect(await Promise.all(ends)).toEqual(['answered', 'answered', 'answered', 'answered']);
  });
});

describe('failures that are no outage', () => {
  const failing =
    (...broken: string[]): ScriptedStep =>
    ({ target }) =>
      target.includes('environments')
        ? { body: [{ id: 'e1' }, { id: 'e2' }] }
        : broken.some((path) => target.startsWith(`/public/beta/${path}`))
          ? error503
          : {};
  const recoveries = (source: { page: (request: PageRequest) => Promise<unknown> }, paths: string[]) =>
    Promise.all(
      paths.map((path) =>
        source.page(list(path)).then(
          () => 'answered',
          (error: { recovery: string }) => error.recovery,
        ),
      ),
    );

  test('one failing list is no outage (R9)', async () => {
    const { server, source } = await setUp([failing('e1/assets')], { retries: 5 });
    expect(await recoveries(source, ['e1/assets', 'e1/columns'])).toEqual(['halve-page', 'answered']);
    expect(server.requests.some(({ target }) => target.includes('limit=1&') || target.endsWith('limit=1'))).toBe(false);
  });

  test('one failing environment is no outage while another answers (R9)', async () => {
    const { source } = await setUp([failing('e1/')], { retries: 2, concurrency: 4 });
    await source.environments();
    const ends = await recoveries(source, ['e1/assets', 'e1/columns', 'e1/tests', 'e1/asset-lineage', 'e2/assets']);
    expect(ends).toEqual(['halve-page', 'halve-page', 'halve-page', 'halve-page', 'answered']);
  });

  test('several failing lists are no outage while others of the same environment answer (R9)', async () => {
    const { source } = await setUp([failing('e1/tests', 'e1/latest', 'e1/column-lineage')], { concurrency: 1 });
    await source.environments();
    const ends = await recoveries(source, ['e1/tests', 'e1/latest', 'e1/column-lineage', 'e1/assets']);
    expect(ends).toEqual(['halve-page', 'halve-page', 'halve-page', 'answered']);
  });

  test('failing pages are no outage while single rows of their lists are answered (R9)', async () => {
    const heavy: ScriptedStep = ({ target }) => (target.endsWith('limit=2000') ? error503 : {});
    const { source } = await setUp([heavy], { retries: 1 });
    expect(await recoveries(source, ['e1/assets', 'e1/columns', 'e1/tests'])).toEqual([
      'halve-page',
      'halve-page',
      'halve-page',
    ]);
  });
});
