/** The name that is most similar to a misspelt word; null when none is similar. */
export function closestName(word: string, names: readonly string[]): string | null {
  const maxEdits = Math.max(1, Math.floor(word.length / 3));
  const near = names
    .map((name) => ({ name, edits: editsBetween([...word], [...name]) }))
    .filter(({ edits }) => edits <= maxEdits)
    .sort((a, b) => a.edits - b.edits);
  return near[0]?.name ?? null;
}

/** The end of a message about an unknown name; empty when no known name is similar. */
export function didYouMean(word: string, names: readonly string[], prefix = ''): string {
  const closest = closestName(word, names);
  return closest === null ? '' : `, did you mean ${prefix}${closest}?`;
}

/** The number of letters to add, remove, replace or swap with the next one (optimal string alignment distance). */
function editsBetween(from: readonly string[], to: readonly string[]): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, j) => j)];
  const edits = (i: number, j: number): number => rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
  for (const [i, letter] of from.entries()) {
    const row = [i + 1];
    rows.push(row);
    for (const [j, other] of to.entries()) {
      const isSwapped = letter === to[j - 1] && other === from[i - 1];
      const replaced = edits(i, j) + Number(letter !== other);
      row.push(
        Math.min(edits(i, j + 1) + 1, edits(i + 1, j) + 1, replaced, isSwapped ? edits(i - 1, j - 1) + 1 : replaced),
      );
    }
  }
  return edits(from.length, to.length);
}
