/** Goes on when what is waited for is over: at once where that is nothing, as a promise costs every request. */
export function goOn(waited: Promise<void> | undefined, done: (refusal?: Error) => void): void {
  if (waited === undefined) done();
  else waited.then(() => done(), done);
}
