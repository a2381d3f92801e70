import { createHash } from 'node:crypto';
import { invalidCursor } from './errors.ts';

/** The sort values of the last row of a page. */
export type Position = readonly (string | number | null)[];

const SEAL_LENGTH = 16;

/** A cursor that stands for `position` and is good for `context` (the exact path and query) alone. */
export function sealCursor(context: string, position: Position): string {
  const payload = JSON.stringify(position);
  return Buffer.from(seal(context, payload) + payload).toString('base64url');
}

/** The position a cursor stands for. @throws Refusal `invalid_cursor` when it was not sealed for this context */
export function openCursor(context: string, cursor: string): Position {
  const bytes = Buffer.from(cursor, 'base64url');
  const text = bytes.toString();
  const payload = text.slice(SEAL_LENGTH);
  const genuine = bytes.toString('base64url') === cursor && text.startsWith(seal(context, payload));
  if (!genuine || payload === '') throw invalidCursor();
  return JSON.parse(payload) as Position;
}

function seal(context: string, payload: string): string {
  return createHash('sha256')
    .update(JSON.stringify([context, payload]))
    .digest('base64url')
    .slice(0, SEAL_LENGTH);
}
