/** Memoizes the last result, because almost every request needs the same result as the previous one. */
export function memoizeLast<Input, Result>(compute: (input: Input) => Result): (input: Input) => Result {
  let last: { readonly input: Input; readonly result: Result } | null = null;
  return (input) => {
    if (last === null || last.input !== input) last = { input, result: compute(input) };
    return last.result;
  };
}
