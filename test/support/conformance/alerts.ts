import { describe, expect, test } from 'vitest';
import type { AlertKind, AlertRule } from '../../../src/core/alerts/alert.ts';
import { messageText } from '../../../src/core/alerts/alert-text.ts';
import type { RunAlerts } from '../../../src/core/alerts/delivery.ts';
import { NO_PROGRESS } from '../../../src/core/checkpoint.ts';
import { addDays, addSeconds, type Instant } from '../../../src/core/time/instant.ts';
import { ruleOf } from '../alert-rules.ts';
import { PLAIN_ROUND_END } from '../commit-parts.ts';
import {
  asset,
  column,
  execution,
  gone,
  link,
  minute,
  range,
  START,
  score,
  test1,
  type Workbench,
  YESTERDAY,
} from './workbench.ts';

/** Which alerts a commit and the end of a run decide, and which messages wait then. */
export function describeAlerts(bench: Workbench): void {
  const { commit, show } = bench;
  const ALL = { replace: 'all', isWhole: true } as const;

  /** What waits to be sent, as `event title`, and is then delivered. */
  async function told(): Promise<string[]> {
    const outstanding = await bench.state().outstandingDeliveries('it', ['e']);
    for (const each of outstanding) await bench.state().recordDelivery(each, { at: START, error: null });
    return outstanding
      .map(({ message }) => `${message.event}: ${messageText({ ...message, event: 'begin' }, null).title}`)
      .sort();
  }

  /** A round that finds these latest executions; each is of the test with the id of the sub-test. */
  async function results(statuses: Readonly<Record<string, string>>, run = 'x1'): Promise<void> {
    const items = Object.entries(statuses).map(([id, status]) =>
      execution(id, `${id}-${run}`, { test_id: id, status }),
    );
    await bench.gather('latest_test_executions', items);
    await commit('latest_test_executions', { archived: bench.decoded('latest_test_executions', items) });
    await bench.settle('latest_test_executions', ALL);
  }

  /** Says that a stream has been read to its end. */
  const read = (name: 'tests' | 'assets', watermark = YESTERDAY) =>
    commit(name, { checkpoint: { ...NO_PROGRESS, watermark } });

  /** The tests t1 to t3 on the assets a1 to a3, each downstream of the one before, and a dashboard after the last. */
  async function furnish(rule: Partial<AlertRule>): Promise<void> {
    await show('assets', [asset('a1'), asset('a2', { owners: ['ana'] }), asset('a3'), asset('board', { kind: 'bi' })]);
    await show(
      'tests',
      ['1', '2', '3'].map((n) => test1(`t${n}`, { asset_id: `a${n}` })),
    );
    await bench.gather('asset_lineage', [link('a1', 'a2'), link('a2', 'a3'), link('a3', 'board')]);
    await bench.settle('asset_lineage', ALL);
    await read('tests');
    bench.setAlertRules([ruleOf({ kinds: ['test'], ...rule })]);
  }

  const end = (changes: Partial<RunAlerts> = {}, rules: readonly AlertRule[] = [ruleOf()]): Promise<void> =>
    bench.state().endRunAlerts({
      ...{ rules, run: 1, now: START, error: null, envIds: ['e'], streams: ['assets'] },
      ...{ isTokenRefused: null, isQuotaExhausted: null },
      ...changes,
    });

  describe('alerts about tests', () => {
    test('what fails at first is silent; then a failure begins an alert, and a PASS ends it', async () => {
      await furnish({});
      await results({ t1: 'FAIL', t2: 'PASS' });
      expect(await told()).toEqual([]);
      await results({ t1: 'PASS', t2: 'ERROR', t3: 'WARN' }, 'x2');
      expect(await told()).toEqual(['begin: Test t2 cannot run on a2 (e)', 'begin: Test t3 warns on a3 (e)']);
      await results({ t1: 'PASS', t2: 'ERROR', t3: 'SKIPPED' }, 'x2');
      expect(await told()).toEqual([]);
      await results({ t1: 'PASS', t2: 'PASS', t3: 'PASS' }, 'x3');
      expect(await told()).toEqual(['end: Test t2 cannot run on a2 (e)', 'end: Test t3 warns on a3 (e)']);
    });

    test('a message has the impact, the probable cause and the start of the failures', async () => {
      await furnish({});
      await results({ t1: 'PASS', t3: 'PASS' });
      await results({ t1: 'FAIL', t3: 'FAIL' }, 'x2');
      const messages = (await bench.state().outstandingDeliveries('it', ['e'])).map(({ message }) => message);
      expect(
        messages.map(({ impact, facts }) => [
          facts.name,
          impact?.downstream_count,
          impact?.dashboard_count,
          impact?.cause,
        ]),
      ).toEqual(
        expect.arrayContaining([
          ['t1', 3, 1, null],
          ['t3', 1, 1, { asset_id: 'a1', name: 'a1' }],
        ]),
      );
      expect(messages[0]?.facts.since).toBe(YESTERDAY);
    });

    test.each([
      ['asset', ['a1', 'a2']],
      ['owner', ['ana', 'ana, ben']],
    ] as const)('grouped by %s, failures that have the same one are one alert', async (group, subjects) => {
      await furnish({ group });
      await show('tests', [
        test1('t1', { asset_id: 'a1', owners: ['ana', 'ben'] }),
        // Its owner is that of its asset.
        test1('t2', { asset_id: 'a2' }),
        test1('t3', { asset_id: 'a2', owners: ['ana'] }),
        test1('t4', { asset_id: 'a1', owners: ['ben', 'ana'] }),
      ]);
      await results({ t1: 'PASS', t2: 'PASS', t3: 'PASS', t4: 'PASS' });
      await results({ t1: 'FAIL', t2: 'FAIL', t3: 'FAIL', t4: 'FAIL' }, 'x2');
      const alerts = await bench.rows('alerts', ['subject']);
      expect(alerts).toEqual(subjects.map((subject) => ({ subject })));
      expect(await told()).toHaveLength(2);
    });

    test('grouped by probable cause, all failures downstream of one asset are one alert, until the last of them passes', async () => {
      await furnish({ group: 'cause' });
      await results({ t1: 'PASS', t2: 'PASS', t3: 'PASS' });
      await results({ t1: 'FAIL', t2: 'FAIL', t3: 'FAIL' }, 'x2');
      expect(await told()).toEqual(['begin: Test t1 fails on a1 and 2 more (e)']);
      await results({ t1: 'PASS', t2: 'FAIL', t3: 'PASS' }, 'x3');
      expect(await told()).toEqual([]);
      await results({ t1: 'PASS', t2: 'PASS', t3: 'PASS' }, 'x4');
      expect(await told()).toHaveLength(1);
    });

    test('a message about a failure that joined names that one, and the end names the first one again', async () => {
      await furnish({ group: 'cause' });
      await results({ t1: 'PASS', t2: 'PASS', t3: 'PASS' });
      await results({ t1: 'FAIL', t2: 'PASS', t3: 'PASS' }, 'x2');
      await told();
      await show('tests', [test1('t3', { asset_id: 'a3', severity: 'LOW' })]);
      await results({ t1: 'FAIL', t2: 'PASS', t3: 'WARN' }, 'x3');
      const [joined] = await bench.state().outstandingDeliveries('it', ['e']);
      expect(joined?.message).toMatchObject({
        ...{ event: 'remind', facts: { name: 't3', severity: 'LOW' }, labels: { severity: 'ERROR', environment: 'e' } },
        impact: { cause: { asset_id: 'a1' } },
      });
      expect(await told()).toEqual(['remind: Test t3 warns on a3 and 1 more (e)']);
      await results({ t1: 'PASS', t2: 'PASS', t3: 'PASS' }, 'x4');
      expect(await told()).toEqual(['end: Test t1 fails on a1 and 1 more (e)']);
    });

    test('nothing is decided about tests before they were read to their end, so the first sync stays silent', async () => {
      bench.setAlertRules([ruleOf({ kinds: ['test'] })]);
      await results({ t1: 'FAIL' });
      await show('tests', [test1('t1')]);
      await read('tests');
      await results({ t1: 'FAIL' });
      await results({ t1: 'FAIL' }, 'x2');
      expect(await told()).toEqual([]);
      expect(await bench.rows('alerts', ['silent'])).toEqual([{ silent: 1 }]);
    });

    test('the beginning of a path is compared without regard to case', async () => {
      await furnish({ paths: ['MODELS/shop/'] });
      await show('tests', [test1('t1', { asset_id: 'a1', path: 'models/Shop/orders.yml' })]);
      await results({ t1: 'PASS', t2: 'PASS' });
      await results({ t1: 'FAIL', t2: 'FAIL' }, 'x2');
      expect(await told()).toEqual(['begin: Test t1 fails on a1 (e)']);
    });

    test('in a storm, the first 50 messages of a decision tell their impact', async () => {
      const ids = range(51);
      await furnish({});
      await show(
        'assets',
        ids.map((id) => asset(id)),
      );
      await show(
        'tests',
        ids.map((id) => test1(id, { asset_id: id })),
      );
      await results(Object.fromEntries(ids.map((id) => [id, 'PASS'])));
      await results(Object.fromEntries(ids.map((id) => [id, 'FAIL'])), 'x2');
      const outstanding = await bench.state().outstandingDeliveries('it', ['e']);
      expect(outstanding.filter(({ message }) => message.impact !== null)).toHaveLength(50);
      expect(outstanding).toHaveLength(51);
    });

    test('a sub-test may have any id', async () => {
      await furnish({});
      await results({ t1: 'PASS' });
      const item = execution('__proto__', 'x', { test_id: 't1', status: 'FAIL' });
      await bench.gather('latest_test_executions', [item]);
      await bench.settle('latest_test_executions', ALL);
      expect(await told()).toEqual(['begin: Test t1 fails on a1 (e)']);
    });

    test('a commit does not undo what snoozed an alert meanwhile', async () => {
      await furnish({ remindSeconds: 3600 });
      await results({ t1: 'PASS' });
      await results({ t1: 'FAIL' }, 'x2');
      const [open] = await bench.rows('alerts', ['id']);
      await bench.state().snoozeAlerts(String(open?.['id']), addDays(START, 3));
      await results({ t1: 'FAIL' }, 'x3');
      expect(await bench.rows('alerts', ['snoozed_until'])).toEqual([{ snoozed_until: addDays(START, 3) }]);
    });

    test('with `after`, it begins at the second failure in a row; the same execution does not count twice', async () => {
      await furnish({ after: 2 });
      await results({ t1: 'PASS' });
      await results({ t1: 'FAIL' }, 'x2');
      await results({ t1: 'FAIL' }, 'x2');
      expect(await told()).toEqual([]);
      await results({ t1: 'FAIL' }, 'x3');
      expect(await told()).toHaveLength(1);
    });

    test.each([
      [3600, 180],
      [86_400, 600],
    ])('a reminder every %i s may come %i s early', async (remindSeconds, earlySeconds) => {
      await furnish({ remindSeconds });
      await results({ t1: 'PASS' });
      await results({ t1: 'FAIL' }, 'x2');
      await told();
      const dueAt = addSeconds(START, remindSeconds - earlySeconds);
      bench.setClock(addSeconds(dueAt, -1));
      await results({ t1: 'FAIL' }, 'x2');
      expect(await told()).toEqual([]);
      bench.setClock(addSeconds(dueAt, 1));
      await results({ t1: 'FAIL' }, 'x2');
      expect(await told()).toEqual(['remind: Test t1 fails on a1 (e)']);
    });

    test('an open alert is repeated when its reminder is due, unless it is snoozed', async () => {
      await furnish({ remindSeconds: 3600 });
      await results({ t1: 'PASS' });
      await results({ t1: 'FAIL' }, 'x2');
      await told();
      bench.setClock(addDays(START, 1));
      await results({ t1: 'FAIL' }, 'x2');
      expect(await told()).toEqual(['remind: Test t1 fails on a1 (e)']);
      const [open] = await bench.rows('alerts', ['id', 'subject']);
      expect(await bench.state().snoozeAlerts(String(open?.['id']), addDays(START, 3))).toEqual([open?.['id']]);
      bench.setClock(addDays(START, 2));
      await results({ t1: 'FAIL' }, 'x2');
      expect(await told()).toEqual([]);
    });

    test('a disabled or deleted test, and a removed rule, end the alert', async () => {
      await furnish({});
      await results({ t1: 'PASS', t2: 'PASS', t3: 'PASS' });
      await results({ t1: 'FAIL', t2: 'FAIL', t3: 'FAIL' }, 'x2');
      await told();
      await show('tests', [test1('t1', { disabled: true }), test1('t2', gone())]);
      await results({ t1: 'FAIL', t2: 'FAIL', t3: 'FAIL' }, 'x2');
      expect(await told()).toHaveLength(2);
      await end({}, []);
      expect(await told()).toEqual(['end: Test t3 fails on a3 (e)']);
    });

    test('if the commit fails, no alert is decided (R5)', async () => {
      await furnish({});
      await results({ t1: 'PASS' });
      const mend = await bench.breakTable('alert_deliveries');
      await expect(results({ t1: 'FAIL' }, 'x2')).rejects.toThrow();
      await mend();
      expect(await bench.rows('latest_test_executions', ['status'])).toEqual([{ status: 'PASS' }]);
      expect(await bench.rows('alerts')).toEqual([]);
      await bench.settle('latest_test_executions', ALL);
      expect(await told()).toHaveLength(1);
    });

    test('a run is given the messages of its own environments, and each only until it is delivered', async () => {
      await furnish({});
      await results({ t1: 'PASS' });
      await results({ t1: 'FAIL' }, 'x2');
      expect(await bench.state().outstandingDeliveries('it', ['other'])).toEqual([]);
      const [begin] = await bench.state().outstandingDeliveries('it', ['e']);
      if (begin === undefined) throw new Error('no message');
      expect(await bench.state().isOutstanding(begin)).toBe(true);
      await told();
      expect(await bench.state().isOutstanding(begin)).toBe(false);
    });

    test('without rules a commit decides nothing', async () => {
      await furnish({});
      bench.setAlertRules([]);
      await results({ t1: 'FAIL' });
      expect(await bench.rows('alert_rules')).toEqual([]);
    });
  });

  describe('alerts about streams', () => {
    const of = (kind: AlertKind, more: Partial<AlertRule> = {}): void =>
      bench.setAlertRules([ruleOf({ kinds: [kind], ...more })]);
    const live = { ...NO_PROGRESS, watermark: YESTERDAY };
    const round = (run: number) =>
      ({
        kind: 'round-end',
        checkpoint: { ...live, finishedCycle: run },
        roundEnd: { ...END_OF_ROUND },
      }) as const;

    test('a rejected row begins an alert in the commit that rejects it, and ends it when it is gone', async () => {
      of('rejected');
      await commit('assets', { kind: 'round-end', checkpoint: live, roundEnd: { ...END_OF_ROUND } });
      await commit('assets', {
        checkpoint: live,
        rejected: [{ key: ['a'], rowKey: 'a', reason: 'odd', payload: '{}' }],
      });
      expect(await told()).toEqual(['begin: 1 rows of assets are rejected (e)']);
      await commit('assets', { checkpoint: live, returnedKeys: [['a']] });
      expect(await told()).toEqual(['end: 1 rows of assets are rejected (e)']);
    });

    test('a page that returns other rows does not count rejected rows again', async () => {
      of('rejected', { after: 2 });
      await commit('assets', round(1));
      const rejected = [{ key: ['a'], rowKey: 'a', reason: 'odd', payload: '{}' }];
      await commit('assets', { checkpoint: live, rejected });
      await commit('assets', { checkpoint: live, returnedKeys: [['b']] }, { run: 2 });
      expect(await told()).toEqual([]);
      await commit('assets', round(2), { run: 2 });
      expect(await told()).toHaveLength(1);
    });

    test('rows that are rejected while a silent alert is open are told, and those before and fewer of them are not', async () => {
      of('rejected');
      const reject = (...ids: string[]) =>
        commit('assets', {
          checkpoint: ids.includes('b') ? NO_PROGRESS : live,
          rejected: ids.map((id) => ({ key: [id], rowKey: id, reason: 'odd', payload: '{}' })),
        });
      await commit('assets', { checkpoint: NO_PROGRESS });
      await reject('b');
      await reject('b', 'c');
      await commit('assets', round(1));
      await commit('assets', { checkpoint: live, returnedKeys: [['b']] });
      expect(await told()).toEqual([]);
      await reject('d');
      expect(await told()).toEqual(['begin: 2 rows of assets are rejected (e)']);
      await commit('assets', { checkpoint: live, returnedKeys: [['c'], ['d']] });
      expect(await told()).toEqual(['end: 2 rows of assets are rejected (e)']);
      expect(await bench.rows('alerts', ['silent'])).toEqual([{ silent: 0 }, { silent: 1 }]);
    });

    const odd = { rejected: [{ key: ['c1'], rowKey: 'c1', reason: 'odd', payload: '{}' }] };
    const lost = { kind: 'discard', forget: 'all' } as const;
    const leftovers: [AlertKind, (run: number) => Parameters<typeof commit>[1]][] = [
      ['rejected', () => ({ checkpoint: live, ...odd })],
      ['held', (run) => ({ ...round(run), roundEnd: { ...END_OF_ROUND, sweep: { at: START }, isHeld: () => true } })],
      ['unavailable', (run) => ({ ...lost, checkpoint: { ...live, unavailable: true, finishedCycle: run } })],
    ];
    test.each(leftovers)('with `after`, %s counts again once the stream itself is read again', async (kind, found) => {
      of(kind, { after: 2 });
      await show('columns', [column('c1')]);
      await commit('columns', round(1));
      await commit('columns', found(2), { run: 2 });
      await commit('assets', round(3), { run: 3 });
      expect(await told()).toEqual([]);
      await commit('columns', found(3), { run: 3 });
      expect(await told()).toHaveLength(1);
    });

    test('rows that are rejected while a stream is read for the first time are silent', async () => {
      of('rejected');
      await bench.settle('tests');
      await commit('assets', { rejected: [{ key: ['a'], rowKey: 'a', reason: 'odd', payload: '{}' }] });
      expect(await told()).toEqual([]);
    });

    test('removals that are held back begin an alert, and end it when they are no longer', async () => {
      of('held');
      await show('columns', [column('c1')]);
      await commit('columns', { kind: 'round-end', checkpoint: live, roundEnd: { ...END_OF_ROUND } });
      await commit('columns', {
        kind: 'round-end',
        checkpoint: live,
        roundEnd: { ...END_OF_ROUND, sweep: { at: START }, isHeld: () => true },
      });
      expect(await told()).toEqual(['begin: 1 removals of columns are held back (e)']);
      await show('columns', [column('c1')]);
      expect(await told()).toHaveLength(1);
    });

    test('a stream that was live and answers 404 begins an alert', async () => {
      of('unavailable');
      await commit('tests', { kind: 'round-end', checkpoint: live, roundEnd: { ...END_OF_ROUND } });
      await commit('asset_health_scores', { ...lost, checkpoint: { ...NO_PROGRESS, unavailable: true } });
      expect(await told()).toEqual([]);
      await commit('tests', { ...lost, checkpoint: { ...live, unavailable: true } });
      expect(await told()).toEqual(['begin: The service no longer has tests (e)']);
      await commit('tests', { kind: 'round-end', checkpoint: live, roundEnd: { ...END_OF_ROUND } });
      expect(await told()).toHaveLength(1);
    });

    test('a score below a value, or lower than a day or two before, begins an alert', async () => {
      of('score', { below: 0.5, by: 0.2 });
      await read('assets');
      await show('assets', [asset('a1'), asset('a2'), asset('a3')]);
      const scores = async (values: readonly number[], hour: string): Promise<void> => {
        const items = values.map((value, i) => score(`a${i + 1}`, value, {}, hour));
        await bench.gather('asset_health_scores', items);
        await commit('asset_health_scores', { archived: bench.decoded('asset_health_scores', items) });
        await bench.settle('asset_health_scores', ALL);
      };
      await scores([0.9, 0.9, 0.9], '2026-11-18T04:00:00');
      await scores([0.4, 0.7, 0.8], '2026-11-20T04:00:00');
      expect(await told()).toEqual([
        'begin: Health score of a1 fell from 0.9 to 0.4 within a day (e)',
        'begin: Health score of a2 fell from 0.9 to 0.7 within a day (e)',
      ]);
      await scores([0.9, 0.9, 0.9], '2026-11-20T05:00:00');
      const [ended] = await bench.state().outstandingDeliveries('it', ['e']);
      if (ended === undefined) throw new Error('no message');
      expect(messageText(ended.message, null).lines).toContain(
        'It is no longer so much lower than a day before; it may still be low',
      );
      await told();
      await scores([0.6, 0.6, 0.6], '2026-11-24T05:00:00');
      expect(await told()).toEqual([]);
    });

    const dimensionScores = async (group: AlertRule['group']) => {
      of('score', { below: 0.5, by: 0.2, dimensions: ['freshness', 'validity'], group });
      await read('assets');
      await show('assets', [asset('a')]);
      const scores = async (total: number, dimensions: Record<string, number>, hour: string): Promise<void> => {
        const items = [score('a', total, dimensions, hour)];
        await bench.gather('asset_health_scores', items);
        await commit('asset_health_scores', { archived: bench.decoded('asset_health_scores', items) });
        await bench.settle('asset_health_scores', ALL);
      };
      await scores(0.9, { freshness: 0.9, validity: 0.9, uniqueness: 0.9 }, '2026-11-18T04:00:00');
      await scores(0.1, { freshness: 0.4, validity: 0.6, uniqueness: 0.1 }, '2026-11-20T04:00:00');
      const [first] = await bench.state().outstandingDeliveries('it', ['e']);
      return first?.message;
    };

    test('the score of a dimension begins an alert if the rule names it, with its own day before', async () => {
      const message = await dimensionScores('test');
      expect(message?.labels).toEqual({ environment: 'e', dimension: 'freshness' });
      expect(await told()).toEqual([
        'begin: Health score (freshness) of a fell from 0.9 to 0.4 within a day (e)',
        'begin: Health score (validity) of a fell from 0.9 to 0.6 within a day (e)',
      ]);
    });

    test('grouped by asset, an alert names each dimension, and none is its label', async () => {
      const message = await dimensionScores('asset');
      expect(message).toMatchObject({ labels: { environment: 'e' }, names: ['a (freshness)', 'a (validity)'] });
      expect(message?.labels).not.toHaveProperty('dimension');
    });

    test('a dropped column and a changed type are told whatever `after` says, and end after a day', async () => {
      of('column_dropped', { kinds: ['column_dropped', 'column_type'], after: 2 });
      const round = () => bench.settle('columns');
      await read('assets');
      await show('assets', [asset('a')]);
      await show('columns', [column('c1', { data_type: 'int' }), column('c2'), column('c3', { asset_id: 'x' })]);
      await round();
      bench.setClock(minute(1));
      await show('columns', [
        column('c1', { data_type: 'text', synced_at: START }),
        column('c2', gone()),
        column('c3', gone()),
      ]);
      await round();
      const paths = (await bench.state().outstandingDeliveries('it', ['e'])).map(({ message }) => message.facts.paths);
      expect(await told()).toEqual([
        'begin: Column c1 of a changed its type (e)',
        'begin: Column c2 of a was dropped (e)',
      ]);
      expect(paths).toEqual([[], []]);
      bench.setClock(addDays(minute(2), 1));
      await round();
      expect(await told()).toHaveLength(2);
    });

    test('a gap in a history is told whatever `after` says', async () => {
      of('history_gap', { after: 2 });
      await show('tests', [test1('t1')]);
      await bench.settle('tests');
      const gap = { from: YESTERDAY, to: START };
      await commit('test_executions', {
        historyRead: { testId: 't1', readAt: START, mirroredAt: START, gaps: [gap], since: 1 },
      });
      expect(await told()).toEqual(['begin: The history of test t1 has a gap (e)']);
    });
  });

  describe('alerts at the end of a run', () => {
    const list = (at: Instant) =>
      bench
        .state()
        .saveEnvironments(
          {
            changed: [{ id: 'e', name: 'shop' }],
            listed: [{ id: 'e', name: 'shop', cron: null }],
            returned: [],
            missing: [],
            rejected: [],
          } as never,
          1,
        )
        .then(() => at);

    test('an environment is stale while its oldest stream is older than the rule allows', async () => {
      await list(START);
      await read('assets');
      await end();
      await end({ now: minute(1) });
      expect(await told()).toEqual(['begin: The mirror is stale: assets is 24 hours old (shop)']);
      await read('assets', START);
      await end({ now: minute(2) });
      expect(await told()).toEqual(['end: The mirror is stale: assets is 24 hours old (shop)']);
    });

    test('a refused token and an exhausted quota begin alerts; a run that does not know changes nothing', async () => {
      await end({ isTokenRefused: false, isQuotaExhausted: false });
      await end({ isTokenRefused: true });
      await end({ isQuotaExhausted: true });
      await end();
      expect(await told()).toEqual([
        'begin: The quota of the account is exhausted',
        'begin: The service refuses the token',
      ]);
      await end({ isTokenRefused: false, isQuotaExhausted: false });
      expect(await told()).toHaveLength(2);
    });

    test('a run decides nothing about the environments of others, but ends the alerts of those no longer listed', async () => {
      await furnish({});
      await results({ t1: 'PASS' });
      await results({ t1: 'FAIL' }, 'x2');
      await told();
      await list(START);
      await end({ envIds: ['other'] }, []);
      expect(await told()).toEqual([]);
      const missing = { changed: [{ id: 'e', name: 'shop', missing_since: START }], listed: [], returned: [] };
      await bench.state().saveEnvironments({ ...missing, missing: [], rejected: [] } as never, 1);
      await end({ envIds: ['other'] }, [ruleOf()]);
      expect(await bench.state().outstandingDeliveries('it', ['other'])).toHaveLength(1);
      expect(await told()).toEqual(['end: Test t1 fails on a1 (shop)']);
    });

    test('a refused token does not end the alerts of other configs', async () => {
      await end({ isTokenRefused: false });
      await end({ isTokenRefused: true });
      await told();
      await end({ isTokenRefused: true }, [ruleOf({ name: 'other' })]);
      expect(await told()).toEqual([]);
      await end({ isTokenRefused: false }, [ruleOf({ name: 'other' })]);
      expect(await told()).toEqual(['end: The service refuses the token']);
    });

    test('a stream that was tried and never read to its end is stale', async () => {
      await list(START);
      await read('assets', START);
      await end();
      const counts = { requests: 1, pages: 0, rows_written: 0, rows_deleted: 0, rows_rejected: 0, rows_late: 0 };
      const tried = {
        env_id: 'e',
        stream: 'tests',
        run_id: 1,
        mode: 'scan',
        reason: 'first',
        status: 'denied' as const,
      };
      await bench.state().recordStreamRun({ ...tried, ...counts, started_at: START, ended_at: START, error: 'denied' });
      await end({ streams: ['assets', 'tests'] });
      expect(await told()).toEqual(['begin: The mirror is stale: tests was never read to its end (shop)']);
    });

    test('a message that its channel refused five times is given up, and no longer waits', async () => {
      await end({ isTokenRefused: false });
      await end({ isTokenRefused: true });
      const [begin] = await bench.state().outstandingDeliveries('it', []);
      if (begin === undefined) throw new Error('no message');
      const refuse = (isRefused: boolean) =>
        bench.state().recordDelivery(begin, { at: START, error: 'it answered 400', isRefused });
      for (const isRefused of [true, true, true, true, false]) await refuse(isRefused);
      expect(await bench.state().waitingDeliveries([])).toEqual(new Map([['it', 1]]));
      await refuse(true);
      expect(await bench.state().waitingDeliveries([])).toEqual(new Map());
    });

    test('alerts and messages are deleted 90 days after their end, unless a message still waits', async () => {
      await end({ isTokenRefused: false });
      await end({ isTokenRefused: true });
      await end({ isTokenRefused: false });
      const prune = (days: number) => bench.state().pruneAlerts(addDays(START, days), ['e']);
      await prune(91);
      expect(await told()).toHaveLength(2);
      await prune(89);
      expect(await bench.rows('alerts', [], '')).toHaveLength(1);
      await prune(91);
      expect([await bench.rows('alerts', [], ''), await bench.rows('alert_deliveries', [], '')]).toEqual([[], []]);
    });
  });
}

/** The end of a round that changes no row. */
const END_OF_ROUND = { ...PLAIN_ROUND_END, settledBefore: null, isWhole: false, isHeld: () => false };
