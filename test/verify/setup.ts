import { onTestFinished } from 'vitest';
import type { Source } from '../../src/core/ports/source.ts';
import type { StreamName } from '../../src/core/stream.ts';
import { instantOfMs } from '../../src/core/time/instant.ts';
import { createSqliteDestination } from '../../src/destination/sqlite/destination.ts';
import { createMirrorReader, createScratchTables } from '../../src/destination/sqlite/mirror-reader.ts';
import { openForReading, openForWriting } from '../../src/destination/sqlite/open.ts';
import { fileState } from '../../src/destination/sqlite/open-state.ts';
import { CATALOGUE } from '../../src/streams/catalogue.ts';
import { type RepairResult, repair } from '../../src/verify/repair.ts';
import { reportOf } from '../../src/verify/report.ts';
import { type VerifyResult, type VerifyRunOptions, verifyMirror } from '../../src/verify/verify.ts';
import type { VerifyReport } from '../../src/verify/verify-report.ts';
import { furnish } from '../model/furnish.ts';
import { createTestMirror, RUN_OPTIONS, type TestMirror } from '../model/test-mirror.ts';
import { createWorld, type World } from '../model/world.ts';

export interface VerifyWish extends Partial<VerifyRunOptions> {
  readonly maxRequests?: number;
  readonly only?: readonly StreamName[];
  readonly repairs?: true;
}

const OPTIONS: VerifyRunOptions = { ...RUN_OPTIONS, depth: 'rows', concurrency: 1 };

/** A filled world, and a mirror synced some time after its last change. Closed after the test. */
export async function syncedWorld(ids?: readonly string[]): Promise<{ world: World; mirrored: TestMirror }> {
  const world = createWorld(ids);
  for (const place of world.environments.values()) furnish(place);
  world.advance(2 * 3600);
  const mirrored = createTestMirror(world);
  onTestFinished(() => mirrored.close());
  await mirrored.sync();
  world.advance(60);
  return { world, mirrored };
}

/** The service lists one environment with these fields. */
export function listEnvironment(world: World, fieldsOf: () => object): void {
  const { source } = world;
  world.source = (...given) => {
    const made = source(...given);
    return {
      ...made,
      async environments() {
        await made.environments();
        return [{ id: 'e1', name: 'env e1', ...fieldsOf() }];
      },
    };
  };
}

function pathOf(mirrored: TestMirror): string {
  return String(mirrored.rows("select file from pragma_database_list where name = 'main'")[0]?.['file']);
}

export async function verified(world: World, mirrored: TestMirror, wish: VerifyWish = {}): Promise<VerifyReport> {
  const { maxRequests, only, repairs, ...options } = wish;
  const source = world.source(maxRequests);
  const file = openForReading(pathOf(mirrored));
  createScratchTables(file);
  const clock = (): string => instantOfMs(world.nowMs);
  const ports = {
    source,
    state: fileState(file, clock),
    reader: (envId: string) => createMirrorReader(file, envId),
    clock,
    signal: new AbortController().signal,
    onProgress: () => {},
  };
  try {
    const streams = CATALOGUE.filter(({ name, optional }) => (only ? only.includes(name) : !optional));
    const wished = { ...OPTIONS, streams, ...options };
    const verification = await verifyMirror(ports, wished);
    const repaired = repairs ? await repairFile(pathOf(mirrored), { source, clock }, { wished, verification }) : null;
    return reportOf(verification, { server_time: source.times().serverTime, requests: source.requests() }, repaired);
  } finally {
    await source.close();
    file.connection.close();
  }
}

async function repairFile(
  path: string,
  { source, clock }: { source: Source; clock: () => string },
  { wished, verification }: { wished: VerifyRunOptions; verification: VerifyResult },
): Promise<RepairResult> {
  const file = openForWriting(path);
  const destination = (envId: string, run: number) => createSqliteDestination(file, { envId, run, clock });
  try {
    const mirror = { state: fileState(file, clock), destination };
    return await repair(
      { catalogue: CATALOGUE, source, mirror, clock, signal: new AbortController().signal },
      wished,
      verification,
    );
  } finally {
    file.connection.close();
  }
}

/** The findings in short: `missing columns a1.c1`. */
export function inShort({ findings }: Pick<VerifyReport, 'findings'>): string[] {
  return findings.map(({ what, stream, key, fields }) =>
    [what, stream, ...Object.values(key), ...(fields.length > 0 ? [`(${fields.join(' ')})`] : [])].join(' '),
  );
}
