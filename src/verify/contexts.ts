import type { CheckpointOf } from '../core/checkpoint.ts';
import type { Context } from '../core/context.ts';
import type { CompareDepth } from '../core/decide/difference.ts';
import type { RefreshTimes } from '../core/decide/pending.ts';
import type { MirrorReader } from '../core/ports/mirror-reader.ts';
import type { Source } from '../core/ports/source.ts';
import type { ListedEnvironment } from '../core/schedule/environments.ts';
import { parentsOf, type Row, type Stream, type StreamName } from '../core/stream.ts';

/** Both sides of one environment. */
export interface EnvironmentContext extends Pick<RefreshTimes, 'refreshedAt' | 'metRefreshAt'> {
  /** All collections, including those that are not verified. */
  readonly catalogue: readonly Stream[];
  readonly environment: ListedEnvironment;
  readonly source: Source;
  readonly reader: MirrorReader;
  /** The checkpoints before the first page: a sync may move them meanwhile. */
  readonly checkpointOf: CheckpointOf;
  /** The feeds that were read from their watermark, or are being read. */
  readonly feedReads: Map<StreamName, Promise<void>>;
}

export interface StreamContext extends EnvironmentContext {
  readonly stream: Stream;
  readonly depth: CompareDepth;
  context(): Context;
  onRequest(this: void): void;
  /** @throws SyncError if the verification must end */
  continueOrStop(): void;
}

/** The times that a stream's rows are judged by. The rows of a typed stream change with the stream of all assets. */
export function refreshTimesOf(streamContext: StreamContext): RefreshTimes {
  const { stream, checkpointOf, context, refreshedAt, metRefreshAt } = streamContext;
  const isTyped = stream.method === 'marked' && stream.subtype !== undefined;
  const name = isTyped ? stream.dependencies[0] : stream.name;
  return {
    watermark: checkpointOf(name).watermark,
    now: context().serverTime,
    refreshedAt,
    metRefreshAt,
  };
}

export function streamNamed(catalogue: readonly Stream[], name: StreamName): Stream {
  const found = catalogue.find((stream) => stream.name === name);
  if (found === undefined) throw new Error(`no stream ${name}`);
  return found;
}

type StreamInCatalogue = Pick<StreamContext, 'catalogue' | 'stream'>;

/**
 * The streams whose rows are the parents of a stream's rows, each with the field that refers to the parent; for a
 * marked stream, the one whose rows are marked.
 */
export function parentStreamsOf({ catalogue, stream }: StreamInCatalogue): readonly { by: string; stream: Stream }[] {
  const parents = parentsOf(stream).map(({ by, table }) => ({
    by,
    stream: catalogue.find((entry) => entry.table === table && entry.method === 'feed') as Stream,
  }));
  if (parents.length > 0) return stream.method === 'marked' ? parents.slice(0, 1) : parents;
  const first = catalogue.find(({ name }) => name === stream.dependencies[0]);
  return first === undefined ? [] : [{ by: stream.key[0], stream: first }];
}

export function parentIdsOf(of: StreamInCatalogue, row: Row | undefined): string[] {
  return parentStreamsOf(of).flatMap(({ by }) => (typeof row?.[by] === 'string' ? [row[by]] : []));
}
