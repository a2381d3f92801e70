/** Memoizes the last result, because almost every request needs the same result as the previous one. */
export function memoizeLast<Of, Found>(find: (of: Of) => Found): (of: Of) => Found {
  let last: { readonly of: Of; readonly found: Found } | null = null;
  return (of) => {
    if (last?.of !== of) last = { of, found: find(of) };
    return last.found;
  };
}
