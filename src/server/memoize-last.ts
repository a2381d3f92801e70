/** The same function with its last result remembered: almost every request needs the same result as the one before. */
export function memoizeLast<Of, Found>(find: (of: Of) => Found): (of: Of) => Found {
  let last: { readonly of: Of; readonly found: Found } | null = null;
  return (of) => {
    if (last?.of !== of) last = { of, found: find(of) };
    return last.found;
  };
}
