import { isServiceDown, listFailed, NO_OUTAGE, type OutageState, probeFailed } from '../core/quota/outage.ts';

/** What all requests of a source together know of the service's health (R24). */
export class ServiceHealth {
  outage: OutageState = NO_OUTAGE;
  #recovery: PromiseWithResolvers<void> | null = null;

  get isDown(): boolean {
    return isServiceDown(this.outage);
  }

  /** Resolves when the outage is over or the source stops; null unless a request is probing the service. */
  get recovery(): Promise<void> | null {
    return this.#recovery?.promise ?? null;
  }

  /** Makes all other requests wait for the one that probes the service. */
  awaitRecovery(): Promise<void> {
    this.#recovery = Promise.withResolvers();
    return this.#recovery.promise;
  }

  /** Records that the list at this path failed. If several lists fail, there is an outage. */
  noteFailure(path: readonly string[]): void {
    this.outage = listFailed(this.outage, path);
  }

  noteFailedProbe(path: readonly string[]): void {
    this.outage = probeFailed(listFailed(this.outage, path));
  }

  /** Records that the service responded, which ends an outage. */
  noteAnswer(): void {
    this.outage = NO_OUTAGE;
    this.release();
  }

  release(): void {
    this.#recovery?.resolve();
    this.#recovery = null;
  }
}
