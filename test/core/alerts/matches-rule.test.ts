import { describe, expect, test } from 'vitest';
import type { AlertFacts, AlertRule } from '../../../src/core/alerts/alert.ts';
import { ruleState } from '../../../src/core/alerts/matches-rule.ts';
import { ruleOf } from '../../support/alert-rules.ts';

const SHOP = { id: 'e1', name: 'Shop' };
const FAILURE: AlertFacts = {
  ...{ name: 't1', status: 'FAIL', severity: 'ERROR', tags: ['core', 'pii'], owners: ['ana', 'ben'] },
  paths: ['models/shop/orders.yml', 'models/orders.sql'],
};

function stateOf(rule: Partial<AlertRule>, facts: Partial<AlertFacts> = {}, environment: typeof SHOP | null = SHOP) {
  const condition = { kind: 'test', key: 't1', evidence: 'x1', facts: { ...FAILURE, ...facts } } as const;
  return ruleState(ruleOf(rule), condition, environment);
}

describe('which failing tests a rule allows', () => {
  test.each<[string, Partial<AlertRule>, Partial<AlertRule>]>([
    ['environments, by id', { environments: ['e2', 'E1'] }, { environments: ['e2'] }],
    ['environments, by name', { environments: ['shop'] }, { environments: ['sho'] }],
    ['severities', { severities: ['warn', 'error'] }, { severities: ['warn'] }],
    ['statuses', { statuses: ['WARN', 'FAIL'] }, { statuses: ['WARN', 'ERROR'] }],
    ['tags, of which it needs one', { tags: ['x', 'PII'] }, { tags: ['x', 'pi'] }],
    ['owners, of which it needs one', { owners: ['BEN', 'x'] }, { owners: ['be', 'x'] }],
    ['paths, by the beginning of one', { paths: ['x', 'MODELS/orders'] }, { paths: ['orders', 'models/shop/x'] }],
    ['all of its keys', { tags: ['pii'], owners: ['ana'] }, { tags: ['pii'], owners: ['x'] }],
  ])('by %s', (_, matching, other) => {
    expect([stateOf(matching), stateOf(other)]).toEqual(['holds', 'no']);
  });

  test('a rule without filters allows every failure, and a filter none whose value is unknown', () => {
    const unknown = { severity: null, tags: [], owners: [], paths: [] };
    expect(stateOf({}, unknown, null)).toBe('holds');
    const filters = ['environments', 'severities', 'tags', 'owners', 'paths'].map((key) => ({ [key]: [''] }));
    expect(filters.map((filter) => stateOf(filter, unknown, null))).toEqual(filters.map(() => 'no'));
  });

  test('a result that neither passed nor failed is unknown, whatever statuses the rule has', () => {
    expect(stateOf({ statuses: ['FAIL'] }, { status: 'SKIPPED' })).toBe('unknown');
  });
});
