import { isServiceDown, listFailed, NO_OUTAGE, type OutageState, probeFailed } from '../core/quota/outage.ts';

/** What all requests of a source know together of whether the service answers (R24). */
export class ServiceHealth {
  #outage = NO_OUTAGE;
  #recovery: PromiseWithResolvers<void> | null = null;

  get outage(): OutageState {
    return this.#outage;
  }

  get isDown(): boolean {
    return isServiceDown(this.#outage);
  }

  /** Resolves when the outage is over or the source stops; null unless a request probes the service. */
  get recovery(): Promise<void> | null {
    return this.#recovery?.promise ?? null;
  }

  /** Lets all other requests wait for the one that probes the service. */
  awaitRecovery(): Promise<void> {
    this.#recovery = Promise.withResolvers();
    return this.#recovery.promise;
  }

  /** The list at this path failed. When several lists fail, there is an outage. */
  noteFailure(path: readonly string[]): void {
    this.#outage = listFailed(this.#outage, path);
  }

  noteFailedProbe(path: readonly string[]): void {
    this.#outage = probeFailed(listFailed(this.#outage, path));
  }

  /** The service has answered, which ends an outage. */
  noteAnswer(): void {
    this.#outage = NO_OUTAGE;
    this.release();
  }

  /** Ends the wait for recovery. */
  release(): void {
    this.#recovery?.resolve();
    this.#recovery = null;
  }
}
