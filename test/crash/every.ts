/** Every nth of all that could be tried, and always the last; with `OBSYNC_EVERY=1` all of it. */
export function each<T>(all: readonly T[], usual: number): T[] {
  const step = Number(process.env['OBSYNC_EVERY'] ?? usual);
  return all.filter((_, i) => i % step === 0 || i === all.length - 1);
}
