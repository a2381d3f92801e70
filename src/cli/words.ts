export { counted } from '../core/counted.ts';

/** The mode of a stream, with its reason unless the mode implies it: `scan (first)`, `feed`. */
export function modeText(mode: string, reason: string): string {
  return reason === mode || reason === 'increment' ? mode : `${mode} (${reason})`;
}

/** `512 B`, `1.5 KiB`, `50.9 MiB` */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [amount, unit] = bytes < 1024 ** 2 ? [bytes / 1024, 'KiB'] : [bytes / 1024 ** 2, 'MiB'];
  return `${amount.toFixed(1)} ${unit}`;
}
