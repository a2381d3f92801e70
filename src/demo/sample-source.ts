import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForWriting } from '../destination/sqlite/open.ts';
import { type ChangeSpan, changeSample } from './changes.ts';
import { makeSample } from './sample.ts';

const SEED = 7;

/** The sample, in a file of its own that exists while the demo runs. */
export type SampleSource = ReturnType<typeof openSampleSource>;

export function openSampleSource() {
  const folder = mkdtempSync(join(tmpdir(), 'obsync-demo-'));
  const file = openForWriting(join(folder, 'source.db'));
  makeSample(file, { seed: SEED, nowMs: Date.now() });
  return {
    path: file.path,
    change: (span: ChangeSpan) => changeSample(file, { seed: SEED, nowMs: Date.now() }, span),
    /** Removes the file. */
    close(): void {
      file.connection.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
