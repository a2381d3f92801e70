import type { PostgresAddress } from './postgres/address.ts';

/** Where a mirror is; `kind` selects its store. */
export type MirrorAddress = FileAddress | PostgresAddress;

interface FileAddress {
  readonly kind: 'file';
  readonly path: string;
  /** The path as the user gave it. */
  readonly display: string;
}
