/** `1 page`, `2 pages`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The mode of a stream, with its reason unless the mode implies it: `scan (first)`, `feed`. */
export function modeText(mode: string, reason: string): string {
  return reason === mode || reason === 'increment' ? mode : `${mode} (${reason})`;
}
