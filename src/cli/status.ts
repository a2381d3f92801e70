import { existsSync } from 'node:fs';
import { lockPath, takeLock } from '../../state/lock.ts';
import { instantOfMs } from '../core/instant.ts';
import { fileError } from '../destination/sqlite/file-error.ts';
import { type MirrorFile, openForReading } from '../destination/sqlite/open.ts';
import type { RunCommand } from './command.ts';
import { readLastRun, readStatus, type StatusReport } from './status-report.ts';
import { renderStatus } from './status-view.ts';
import { tellReport } from './tell-report.ts';

export const status: RunCommand = async (args, io) => {
  const mirror = openForReading(args['db'] as string);
  try {
    const report = withVerdict(mirror, readStatus(mirror, instantOfMs(Date.now())));
    tellReport(report, args, io, renderStatus);
    return 0;
  } catch (error) {
    throw fileError(mirror.path, error);
  } finally {
    mirror.connection.close();
  }
};

/** A run noted as `running` was killed when nobody holds the lock, unless it has ended since the report was read. */
function withVerdict(mirror: MirrorFile, report: StatusReport): StatusReport {
  const { last_run: run } = report;
  if (run?.status !== 'running' || isHeld(mirror.path)) return report;
  const again = readLastRun(mirror);
  return {
    ...report,
    last_run: again?.run === run.run && again.status === 'running' ? { ...run, status: 'killed' } : again,
  };
}

/** Asks for the lock only when its file exists: a report makes no files. */
function isHeld(path: string): boolean {
  if (!existsSync(lockPath(path))) return false;
  try {
    takeLock(path).release();
    return false;
  } catch {
    // Held, or not for this user to take: nobody can say that the run is dead.
    return true;
  }
}
