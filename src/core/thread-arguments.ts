/**
 * Options for a new thread. It gets the arguments of its process, unless one of them says how Node reads a program
 * given as text: Node refuses that for the file of a thread. It then gets none, because Node also refuses some that
 * belong to the process, such as `--expose-gc`, if they are passed on explicitly.
 */
export function threadArguments(execArgv: readonly string[]): { execArgv?: string[] } {
  return execArgv.some((each) => each.startsWith('--input-type')) ? { execArgv: [] } : {};
}
