import fc from 'fast-check';

/** What the outside does to an answer on its way, or puts in its place; `gatewayMinutes` is how fast the clock of a gateway runs. */
export type Disturbance =
  | {
      readonly do: 'refuse';
      readonly retryAfterSeconds: number;
      readonly told: boolean;
      readonly gatewayMinutes: number;
    }
  | {
      readonly do: 'fail';
      readonly status: number;
      readonly page: 'envelope' | 'html';
      readonly retryAfter: boolean;
      readonly gatewayMinutes: number;
    }
  | { readonly do: 'garble'; readonly body: string; readonly gatewayMinutes: number }
  | { readonly do: 'reset' | 'truncate' | 'untold' };

/** A disturbance of so many requests of a run in a row, from the one numbered `at` on. */
export interface WireFault {
  readonly at: number;
  readonly times: number;
  readonly disturbance: Disturbance;
}

/** What a gateway puts in place of an answer. */
export const GATEWAY_PAGE = '<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>';

/** With status 200, and yet no page: no JSON, half of it, or JSON that is no envelope. */
const NO_PAGES = [
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
  do: fc.constant('refuse' as const),
  retryAfterSeconds: fc.constantFrom(0, 1, 7, 60, 60, 1200),
  told: fc.boolean(),
  gatewayMinutes,
});
const failures = fc.record({
  do: fc.constant('fail' as const),
  status: fc.constantFrom(500, 502, 503, 504),
  page: fc.constantFrom('envelope' as const, 'html' as const),
  retryAfter: fc.boolean(),
  gatewayMinutes,
});
const garbled = fc.record({ do: fc.constant('garble' as const), body: fc.constantFrom(...NO_PAGES), gatewayMinutes });
const others = fc.record({ do: fc.constantFrom('reset' as const, 'truncate' as const, 'untold' as const) });

/** Mostly one that a further try gets over; sometimes one that outlasts all tries. */
export const wireFaults: fc.Arbitrary<WireFault[]> = fc.array(
  fc.record({
    at: fc.oneof({ weight: 1, arbitrary: fc.constant(1) }, { weight: 4, arbitrary: fc.integer({ min: 2, max: 25 }) }),
    times: fc.constantFrom(1, 1, 1, 2, 3, 9),
    disturbance: fc.oneof(refusals, failures, garbled, others),
  }),
  { maxLength: 4 },
);

/** An account's limit: requests in each window, on a grid of time or from the first request on. */
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

/** Where a request stands in its window. */
interface Counted {
  readonly isOver: boolean;
  readonly remaining: number;
  readonly resetSeconds: number;
  /** Its window's number. */
  readonly window: number;
}

export function counting({ limit, windowSeconds, onGrid }: Quota): (nowMs: number) => Counted {
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
