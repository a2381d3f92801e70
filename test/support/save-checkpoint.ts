import { syncCheckpoints as table } from '../../schema/sync.ts';
import type { Checkpoint } from '../../src/core/checkpoint.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { encodeCheckpoint } from '../../state/checkpoint-store.ts';

/** Stores a checkpoint without the rows of its page. */
export function saveCheckpoint(db: MirrorFile['db'], envId: string, stream: string, checkpoint: Checkpoint): void {
  const columns = encodeCheckpoint(checkpoint);
  db.insert(table)
    .values({ env_id: envId, stream, ...columns })
    .onConflictDoUpdate({ target: [table.env_id, table.stream], set: columns })
    .run();
}
