import { closeAfter } from '../core/close-after.ts';
import { SyncError } from '../core/errors.ts';
import type { MirrorStore } from './mirror-store.ts';
import { COPIED_TABLES } from './sql/copied-tables.ts';

/** A table has been copied. */
export interface CopyEvent {
  readonly type: 'table';
  readonly table: string;
  readonly rows: number;
}

export interface CopyWatch {
  readonly signal: AbortSignal;
  onProgress(event: CopyEvent): void;
}

export interface CopyReport {
  readonly db: string;
  readonly to: string;
  readonly rows: number;
  readonly tables: readonly { readonly table: string; readonly rows: number }[];
}

/** Copies a mirror to an empty place, which stays empty if that fails. @throws SyncError */
export async function copyMirror(
  from: Pick<MirrorStore, 'display' | 'openCopySource'>,
  to: Pick<MirrorStore, 'display' | 'openCopyTarget'>,
  { signal, onProgress }: CopyWatch,
): Promise<CopyReport> {
  const refuseStopped = (): void => {
    if (signal.aborted) throw new SyncError('signal', 'stopped before the mirror was copied: nothing was changed');
  };
  return closeAfter(await from.openCopySource(), async (source) => {
    const target = await to.openCopyTarget();
    const tables: { table: string; rows: number }[] = [];
    try {
      for (const table of COPIED_TABLES) {
        const copied = { table: table.name, rows: 0 };
        for await (const rows of source.rows(table)) {
          refuseStopped();
          await target.write(table, rows);
          copied.rows += rows.length;
        }
        tables.push(copied);
        onProgress({ type: 'table', ...copied });
      }
      refuseStopped();
      await target.finish();
      return { db: from.display, to: to.display, rows: tables.reduce((sum, { rows }) => sum + rows, 0), tables };
    } catch (error) {
      // The original error matters more than one from the clean-up.
      await target.abandon().catch(() => {});
      throw error;
    }
  });
}
