import { ALERT_KINDS, type AlertRule } from '../../src/core/alerts/alert.ts';

/** A rule that allows everything, with these changes. */
export function ruleOf(changes: Partial<AlertRule> = {}): AlertRule {
  return {
    ...{
      name: 'r',
      kinds: ALERT_KINDS,
      environments: [],
      severities: [],
      statuses: [],
      tags: [],
      owners: [],
      dimensions: ['total'],
      paths: [],
    },
    ...{ below: null, by: null, maxAgeSeconds: 86_400, after: 1, remindSeconds: null, group: 'test', to: ['it'] },
    ...changes,
  };
}
