/** `1 page`, `2 pages`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** How a stream is read, and why where that is not said by it: `scan (first)`, `feed`. */
export function modeText(mode: string, reason: string): string {
  return reason === mode || reason === 'increment' ? mode : `${mode} (${reason})`;
}
