import { dirname, join } from 'node:path';
import Sqlite from 'better-sqlite3';
import type { Row } from '../../src/core/stream.ts';
import type { ListConnection } from '../../src/destination/postgres/open-connection.ts';
import { replicaSource } from '../../src/destination/postgres/replica-source.ts';
import { refreshReplica } from '../../src/destination/refresh-replica.ts';
import type { ReplicaSource, SourceSnapshot } from '../../src/destination/sql/copied-tables.ts';

/** A replica of a twin in PostgreSQL, beside the file of its mirror. */
export interface TwinReplica {
  readonly path: string;
  refresh(): Promise<void>;
  /** Begins a refresh that breaks off, as in a process that is killed. */
  destroy(): Promise<void>;
  /** Reads it over one connection. */
  read(work: (select: (sql: string) => Row[]) => void): void;
}

const NEVER = new AbortController().signal;

export function twinReplica(server: ListConnection, schema: string, mirrorPath: string): TwinReplica {
  const source = replicaSource(server, { schema, display: schema });
  const place = { path: join(dirname(mirrorPath), 'replica.db'), isOwn: true };
  let portions = 0;
  return {
    path: place.path,
    refresh: async () => void (await refreshReplica(source, place, { signal: NEVER })),
    async destroy() {
      await refreshReplica(breakingOff(source, ++portions % 7), place, { signal: NEVER }).catch(
        async (error: unknown) => {
          if (!(error instanceof BrokenOff)) throw error;
          await server.query('rollback');
        },
      );
    },
    read(work) {
      const connection = new Sqlite(place.path, { readonly: true });
      try {
        work((sql) => connection.prepare<[], Row>(sql).all());
      } finally {
        connection.close();
      }
    },
  };
}

class BrokenOff extends Error {}

/** Fails once so many portions of rows have been read. */
function breakingOff(source: ReplicaSource, portions: number): ReplicaSource {
  let left = portions;
  const broken = (snapshot: SourceSnapshot): SourceSnapshot => ({
    ...snapshot,
    async *rows(...given) {
      for await (const rows of snapshot.rows(...given)) {
        if (left-- === 0) throw new BrokenOff();
        yield rows;
      }
    },
  });
  return { ...source, inSnapshot: (work) => source.inSnapshot((snapshot) => work(broken(snapshot))) };
}
