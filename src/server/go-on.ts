/** Calls `done` after the promise, or immediately without one: a promise would cost time in every request. */
export function goOn(waited: Promise<void> | undefined, done: (refusal?: Error) => void): void {
  if (waited === undefined) done();
  else waited.then(() => done(), done);
}
