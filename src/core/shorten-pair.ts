/** How much of what two texts share stays before their first difference. */
const SHARED_CHARACTERS = 20;

function firstDifference(a: string, b: string): number {
  const [own, other] = [Buffer.from(a, 'utf16le'), Buffer.from(b, 'utf16le')];
  const at = own.findIndex((byte, i) => byte !== other[i]);
  return at === -1 ? a.length : Math.floor(at / 2);
}

/** Cuts two texts so that both show where they first differ. */
export function shortenPair(texts: readonly [string, string], maxCharacters: number): [string, string] {
  const [a, b] = texts;
  if (Math.max(a.length, b.length) <= maxCharacters) return [a, b];
  const shared = firstDifference(a, b);
  const start = shared > 2 * SHARED_CHARACTERS ? shared - SHARED_CHARACTERS : 0;
  const cut = (text: string): string => {
    const [before, end] = [start === 0 ? '' : '…', start + maxCharacters];
    const part = text.length > end ? `${text.slice(start, end - 1)}…` : text.slice(start);
    // A copy: a slice would keep the whole text in memory. It also replaces half of a pair (R19).
    return before + Buffer.from(part).toString();
  };
  return [cut(a), cut(b)];
}
