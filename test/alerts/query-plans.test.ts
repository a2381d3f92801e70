import { expect, onTestFinished, test } from 'vitest';
import { type PrepareStatement, perform } from '../../src/destination/sqlite/driver.ts';
import { openForWriting } from '../../src/destination/sqlite/open.ts';
import { loadAlerts, pruneAlerts } from '../../state/alerts/alert-store.ts';
import { START } from '../support/conformance/workbench.ts';

test('a run finds open alerts and those to delete by an index, without reading all that have ended', () => {
  const { connection, prepare } = openForWriting(':memory:');
  onTestFinished(() => void connection.close());
  const plans: string[] = [];
  const watched: PrepareStatement = (name, text = () => name) => {
    const unbound = connection.prepare(`explain query plan ${text().replaceAll(/\?|@\w+/g, "''")}`);
    plans.push(...(unbound.all() as { detail: string }[]).map(({ detail }) => detail));
    return prepare(name, text);
  };
  perform(watched, loadAlerts('e', ['test']));
  perform(watched, pruneAlerts(START, []));
  const reads = plans.filter((step) => /(SCAN|SEARCH) (a|alerts)\b/.test(step));
  expect(reads.length).toBeGreaterThan(2);
  for (const step of reads) expect(step).toMatch(/alerts_by_end|\(env_id=\? AND id=\?\)/);
});
