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
 * in a row, and again when none of them fails any more. What failed at first is never told.
 */
export function alertModel(after: number) {
  const failures = new Map<string, { test: string; evidence: string; count: number }>();
  const open = new Map<string, { isSilent: boolean }>();
  const told: string[] = [];
  let isFirst = true;
  return {
    told,
    observe(results: readonly ModelResult[]): void {
      const byKey = new Map(results.map((result) => [result.key, result]));
      for (const key of failures.keys()) if ((byKey.get(key)?.status ?? 'PASS') === 'PASS') failures.delete(key);
      for (const { key, test, status, evidence } of results) {
        const before = failures.get(key);
        if (!FAILING.includes(status) || before?.evidence === evidence) continue;
        failures.set(key, { test, evidence, count: (before?.count ?? 0) + 1 });
      }
      for (const test of new Set([...open.keys(), ...results.map((result) => result.test)])) {
        const counts = [...failures.values()].filter((each) => each.test === test).map(({ count }) => count);
        const standing = open.get(test);
        if (standing !== undefined && counts.length === 0) {
          open.delete(test);
          if (!standing.isSilent) told.push(`end ${test}`);
        } else if (standing === undefined && counts.length > 0 && (isFirst || Math.max(...counts) >= after)) {
          open.set(test, { isSilent: isFirst });
          if (!isFirst) told.push(`begin ${test}`);
        }
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
