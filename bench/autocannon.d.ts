/** The part of an untyped package that the benchmark uses. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events';

  interface Options {
    readonly url: string;
    readonly connections: number;
    /** Seconds. */
    readonly duration: number;
    readonly headers: Readonly<Record<string, string>>;
    /** Sent round-robin. */
    readonly requests: readonly { readonly path: string }[];
  }

  interface Result {
    readonly errors: number;
    readonly non2xx: number;
    /** Seconds. */
    readonly duration: number;
  }

  /** Emits `response` with the client, the status, the bytes and the milliseconds of each answer. */
  const autocannon: (options: Options, done: (error: Error | null, result: Result) => void) => EventEmitter;
  export default autocannon;
}
