import { createCipheriv, createDecipheriv, createHmac, type KeyObject } from 'node:crypto';
import { invalidCursor } from './errors.ts';

/** The sort values of the last row of a page. */
export type PagePosition = readonly (string | number | null)[];

/** What a cursor is valid for: the exact path and query, under the mirror's key. */
export interface CursorSeal {
  /** 32 bytes. */
  readonly key: KeyObject;
  readonly context: string;
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const BLOCK_BYTES = 256;

/** A cursor for a position, valid for this seal: encrypted, because the position may name a row to be hidden. */
export function sealCursor({ key, context }: CursorSeal, position: PagePosition): string {
  const text = padded(JSON.stringify(position));
  // Derived from the whole input: different texts never share a nonce, and the same page always gives the same cursor.
  const nonce = createHmac('sha256', key)
    .update(JSON.stringify([context, text]))
    .digest()
    .subarray(0, NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(text), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
}

/** Pads the text to a full block, so the length of a cursor reveals almost nothing about its row. */
function padded(text: string): string {
  const bytes = Buffer.byteLength(text);
  return text + ' '.repeat(Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES - bytes);
}

/** The position in a cursor. @throws HttpError `invalid_cursor` if the cursor was not made with this seal */
export function openCursor({ key, context }: CursorSeal, cursor: string): PagePosition {
  const bytes = Buffer.from(cursor, 'base64url');
  // The last character has unused bits: without this check, several texts would be the same cursor.
  if (bytes.toString('base64url') !== cursor || bytes.length <= NONCE_BYTES + TAG_BYTES) throw invalidCursor();
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(context))
      .setAuthTag(tag);
    const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
    return JSON.parse(text.toString()) as PagePosition;
  } catch {
    throw invalidCursor();
  }
}
