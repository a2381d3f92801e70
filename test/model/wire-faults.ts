import fc from 'fast-check';
import { LIST_PATHS } from '../support/catalogue.ts';

/** What happens to a response on the wire. `gatewayMinutes` is how far the clock of a gateway is fast. */
export type Disturbance =
  | {
      readonly type: 'refuse';
      readonly retryAfterSeconds: number;
      readonly sendsQuota: boolean;
      readonly gatewayMinutes: number;
    }
  | {
      readonly type: 'fail';
      readonly status: number;
      readonly page: 'envelope' | 'html';
      readonly retryAfter: boolean;
      readonly gatewayMinutes: number;
    }
  | { readonly type: 'garble'; readonly body: string; readonly gatewayMinutes: number }
  | { readonly type: 'reset' | 'truncate' | 'drop-headers' };

/** A disturbance of `times` consecutive requests of a run, starting with number `at`. */
export interface WireFault {
  readonly at: number;
  readonly times: number;
  /** The only list that it affects; all of them if omitted. */
  readonly list?: string;
  readonly disturbance: Disturbance;
}

/** More requests than any run sends: the fault lasts until the run ends. */
export const UNTIL_RUN_ENDS = 1_000_000;

/** The page that a gateway sends instead of a response. */
export const GATEWAY_PAGE = '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>';

/** Bodies with status 200 that are not a page: no JSON, half of it, or JSON without the envelope. */
const INVALID_BODIES = [
  GATEWAY_PAGE,
  '',
  '{"items":[',
  'null',
  '[1]',
  '{"data":[]}',
  '{"items":[],"has_more":"yes"}',
  '\uFEFF',
];

const gatewayMinutes = fc.constantFrom(0, 110, -600, 50_000);
const refusals = fc.record({
  type: fc.constant('refuse' as const),
  retryAfterSeconds: fc.constantFrom(0, 1, 7, 60, 60, 1200),
  sendsQuota: fc.boolean(),
  gatewayMinutes,
});
const failures = fc.record({
  type: fc.constant('fail' as const),
  status: fc.constantFrom(500, 502, 503, 504),
  page: fc.constantFrom('envelope' as const, 'html' as const),
  retryAfter: fc.boolean(),
  gatewayMinutes,
});
const garbled = fc.record({
  type: fc.constant('garble' as const),
  body: fc.constantFrom(...INVALID_BODIES),
  gatewayMinutes,
});
const others = fc.record({ type: fc.constantFrom('reset' as const, 'truncate' as const, 'drop-headers' as const) });

/** Mostly faults that a retry survives; some outlast all retries. */
const transientFaults: fc.Arbitrary<WireFault> = fc.record({
  at: fc.oneof({ weight: 1, arbitrary: fc.constant(1) }, { weight: 4, arbitrary: fc.integer({ min: 2, max: 25 }) }),
  times: fc.constantFrom(1, 1, 1, 2, 3, 9),
  disturbance: fc.oneof(refusals, failures, garbled, others),
});

/** The service is down for a while or until the run ends. */
const outages: fc.Arbitrary<WireFault> = fc.record({
  at: fc.integer({ min: 2, max: 12 }),
  times: fc.constantFrom(UNTIL_RUN_ENDS, UNTIL_RUN_ENDS, 12),
  disturbance: fc.oneof(failures, fc.constant({ type: 'reset' as const })),
});

/** One list is refused by its own rate limiter while the others answer. */
const refusedLists: fc.Arbitrary<WireFault> = fc.record({
  at: fc.constant(2),
  times: fc.constant(UNTIL_RUN_ENDS),
  list: fc.constantFrom(...LIST_PATHS),
  disturbance: fc.constant({ type: 'refuse' as const, retryAfterSeconds: 1, sendsQuota: false, gatewayMinutes: 0 }),
});

export const wireFaults: fc.Arbitrary<WireFault[]> = fc.oneof(
  { weight: 6, arbitrary: fc.array(transientFaults, { maxLength: 4 }) },
  { weight: 2, arbitrary: fc.array(outages, { minLength: 1, maxLength: 1 }) },
  { weight: 1, arbitrary: fc.array(refusedLists, { minLength: 1, maxLength: 1 }) },
);

/** The requests allowed per window. Windows are aligned to the clock, or begin with a request. */
export interface Quota {
  readonly limit: number;
  readonly windowSeconds: number;
  readonly onGrid: boolean;
}

export const quotas: fc.Arbitrary<Quota> = fc.record({
  limit: fc.integer({ min: 1, max: 40 }),
  windowSeconds: fc.constantFrom(1, 10, 60),
  onGrid: fc.boolean(),
});

/** The state of the quota after a request. */
interface QuotaState {
  readonly isOver: boolean;
  readonly remaining: number;
  readonly resetSeconds: number;
  /** The number of the window. */
  readonly window: number;
}

export function createQuotaCounter({ limit, windowSeconds, onGrid }: Quota): (nowMs: number) => QuotaState {
  const lengthMs = windowSeconds * 1000;
  let [used, window, endMs] = [0, 0, Number.NEGATIVE_INFINITY];
  return (nowMs) => {
    if (nowMs >= endMs) {
      endMs = (onGrid ? Math.floor(nowMs / lengthMs) * lengthMs : nowMs) + lengthMs;
      [used, window] = [0, window + 1];
    }
    const isOver = used >= limit;
    if (!isOver) used += 1;
    return { isOver, remaining: limit - used, resetSeconds: Math.ceil((endMs - nowMs) / 1000), window };
  };
}
