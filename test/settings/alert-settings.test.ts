import { expect, test } from 'vitest';
import { ALERT_KINDS, type AlertRule } from '../../src/core/alerts/alert.ts';
import { alertSettings } from '../../src/settings/alert-settings.ts';

const exec = { type: 'exec', command: ['true'] };
const ruleIn = (rule: object): AlertRule | undefined =>
  alertSettings({ channels: { team: exec, boss: exec }, rules: [{ name: 'r', to: 'team', ...rule }] }).rules[0];

test('a rule is read with every key; one text stands for a list', () => {
  const when = {
    ...{ kind: ['test', 'score', 'stale'], environment: 'shop', severity: ['ERROR'], status: ['FAIL', 'WARN'] },
    ...{ tags: ['core', 'pii'], owner: 'ana', path: 'models/shop', dimension: 'freshness', below: 0.9, by: 0.1 },
    maxAge: '2h',
  };
  expect(ruleIn({ when, after: 2, remind: '1d', group: 'owner', to: ['team', 'boss'] })).toEqual({
    ...{ name: 'r', kinds: ['test', 'score', 'stale'], environments: ['shop'], severities: ['ERROR'] },
    ...{ statuses: ['FAIL', 'WARN'], tags: ['core', 'pii'], owners: ['ana'], paths: ['models/shop'] },
    ...{ dimensions: ['freshness'], below: 0.9, by: 0.1, maxAgeSeconds: 7200 },
    ...{ after: 2, remindSeconds: 86_400, group: 'owner', to: ['team', 'boss'] },
  });
});

test('a rule with a name and a channel matches every kind and score, at the first result, without reminders', () => {
  expect(ruleIn({})).toEqual({
    ...{ name: 'r', kinds: ALERT_KINDS, environments: [], severities: [], statuses: [], tags: [], owners: [] },
    ...{ paths: [], dimensions: ['total'], below: null, by: null, maxAgeSeconds: 86_400 },
    ...{ after: 1, remindSeconds: null, group: 'test', to: ['team'] },
  });
});
