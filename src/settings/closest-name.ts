/** The name that is most similar to a misspelt word; null when none is similar. */
export function closestName(word: string, names: readonly string[]): string | null {
  const most = Math.max(1, Math.floor(word.length / 3));
  const near = names
    .map((name) => ({ name, edits: editsBetween(word, name) }))
    .filter(({ edits }) => edits <= most)
    .sort((a, b) => a.edits - b.edits);
  return near[0]?.name ?? null;
}

/** The number of letters to add, remove or replace (Levenshtein distance). */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: [...to].length + 1 }, (_, i) => i);
  for (const [i, letter] of [...from].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...to].entries()) {
      const [above, left, corner] = [row[j + 1], next[j], row[j]] as [number, number, number];
      next.push(Math.min(above + 1, left + 1, corner + Number(letter !== other)));
    }
    row = next;
  }
  return row.at(-1) as number;
}
