import { readdirSync, readFileSync } from 'node:fs';
import { Client } from 'pg';
import { startServer } from '../test/support/postgres/server.ts';

/** A PostgreSQL server for the benchmark. */
export type BenchServer = Awaited<ReturnType<typeof openBenchServer>>;

export async function openBenchServer() {
  const server = await startServer();
  const client = new Client({ connectionString: server.url });
  await client.connect();
  /** Runs one statement and returns its first row. */
  const ask = async (sql: string) => (await client.query<Record<string, unknown>>(sql)).rows[0] ?? {};
  const { pid, version } = await ask(`select pg_backend_pid() as pid, current_setting('server_version') as version`);
  const postmaster = statOf(Number(pid))?.parent ?? Number.NaN;
  return {
    url: server.url,
    version: `PostgreSQL ${version}`,
    ask,
    /** The CPU time of all its processes so far, including ended ones. */
    cpuSeconds(): number {
      const processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
      const own = statOf(postmaster);
      const children = processes.map((name) => statOf(Number(name))).filter((stat) => stat?.parent === postmaster);
      return [own, ...children].reduce((sum, stat) => sum + (stat?.ticks ?? 0), own?.ofEnded ?? 0) / TICKS_PER_SECOND;
    },
    async close(): Promise<void> {
      await client.end();
      await server.remove();
    },
  };
}

/** Linux reports process times in this unit on every machine. */
const TICKS_PER_SECOND = 100;

interface ProcessStat {
  readonly parent: number;
  readonly ticks: number;
  /** That of its ended children. */
  readonly ofEnded: number;
}

/** The kernel's statistics of a process; null if it has ended. */
function statOf(pid: number): ProcessStat | null {
  try {
    // The second field is the program's name, which may contain anything.
    const fields = (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '').split(' ').map(Number);
    const [parent = 0, user = 0, system = 0, endedUser = 0, endedSystem = 0] = [1, 11, 12, 13, 14].map(
      (i) => fields[i],
    );
    return { parent, ticks: user + system, ofEnded: endedUser + endedSystem };
  } catch {
    return null;
  }
}
