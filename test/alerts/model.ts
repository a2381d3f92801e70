/** The latest result of one sub-test. */
export interface ModelResult {
  readonly key: string;
  readonly test: string;
  readonly status: string;
  /** The execution. */
  readonly evidence: string;
}

const FAILING: readonly string[] = ['WARN', 'FAIL', 'ERROR'];

/**
 * What a rule about tests must tell, in a few lines: a test is told when one of its sub-tests has failed `after` times
 * in a row, again when another one has, and when none of them fails any more. What failed at first is never told.
 */
export function alertModel(after: number) {
  const failures = new Map<
    string,
    { test: string; evidence: string; count: number; isTold: boolean; isOld: boolean }
  >();
  const open = new Set<string>();
  const told: string[] = [];
  let isFirst = true;
  return {
    told,
    observe(results: readonly ModelResult[]): void {
      const byKey = new Map(results.map((result) => [result.key, result]));
      for (const key of failures.keys()) if ((byKey.get(key)?.status ?? 'PASS') === 'PASS') failures.delete(key);
      for (const { key, test, status, evidence } of results) {
        const before = failures.get(key) ?? { test, count: 0, evidence: null, isTold: false, isOld: isFirst };
        if (!FAILING.includes(status) || before.evidence === evidence) continue;
        failures.set(key, { ...before, evidence, count: before.count + 1 });
      }
      for (const test of new Set([...open, ...results.map((result) => result.test)])) {
        const news = [...failures.values()].filter((each) => each.test === test && !each.isOld);
        const untold = news.filter((each) => each.count >= after && !each.isTold);
        if (untold.length > 0) told.push(`${open.has(test) ? 'remind' : 'begin'} ${test}`);
        if (untold.length > 0) open.add(test);
        for (const each of untold) each.isTold = true;
        if (news.length === 0 && open.delete(test)) told.push(`end ${test}`);
      }
      isFirst = false;
    },
  };
}

/** What a channel received, each message once, as the model tells it; the messages of each test in their order. */
export function distinctMessages(received: readonly { readonly key: string; readonly what: string }[]): string[] {
  return [...new Map(received.map(({ key, what }) => [key, what])).values()];
}

/** The messages of each test, in order. Messages about two tests may come in any order. */
export function byTest(messages: readonly string[]): Readonly<Record<string, readonly string[]>> {
  return Object.groupBy(messages, (message) => message.replace(/^\w+ /, '')) as Record<string, string[]>;
}
