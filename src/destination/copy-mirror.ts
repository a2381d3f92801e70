import { closeAfter } from '../core/close-after.ts';
import { SyncError } from '../core/errors.ts';
import type { MirrorStore } from './mirror-store.ts';
import { COPIED_TABLES, type CopySource, type CopyTarget } from './sql/copied-tables.ts';

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
  watch: CopyWatch,
): Promise<CopyReport> {
  return closeAfter(await from.openCopySource(), async (source) => {
    const target = await to.openCopyTarget();
    try {
      const tables = await copyTables(source, target, watch);
      await target.finish();
      return { db: from.display, to: to.display, rows: tables.reduce((sum, { rows }) => sum + rows, 0), tables };
    } catch (error) {
      // The original error matters more than one from the clean-up.
      await target.abandon().catch(() => {});
      throw error;
    }
  });
}

async function copyTables(
  source: CopySource,
  target: CopyTarget,
  { signal, onProgress }: CopyWatch,
): Promise<CopyReport['tables']> {
  const copied: { table: string; rows: number }[] = [];
  for (const table of COPIED_TABLES) {
    let count = 0;
    for await (const rows of source.rows(table)) {
      refuseStopped(signal);
      await target.write(table, rows);
      count += rows.length;
    }
    copied.push({ table: table.name, rows: count });
    onProgress({ type: 'table', table: table.name, rows: count });
  }
  refuseStopped(signal);
  return copied;
}

function refuseStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new SyncError('signal', 'stopped before the mirror was copied: nothing was changed');
}
