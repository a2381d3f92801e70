import { connect } from 'node:net';
import { onTestFinished } from 'vitest';
import { assets, environments } from '../../schema/assets.ts';
import type { MirrorFile } from '../../src/destination/sqlite/open.ts';
import { mirrorFile, type Started, start } from './setup.ts';

/** A token that `serving` accepts. */
export const SERVE_TOKEN = 'the-token-of-the-server';

export interface Serving extends Pick<Started, 'ended' | 'kill'> {
  readonly url: string;
  get(path: string, token?: string | null): Promise<{ status: number; body: Answered }>;
  /** Resolves when stderr contains this text; rejects if the program exits without it. */
  logged(text: string): Promise<void>;
  stderr(): string;
}

// biome-ignore lint/suspicious/noExplicitAny: tests inspect arbitrary responses
type Answered = any;

/** Starts the real `obsync serve` on a free port and waits for its URL; it stops when the test or the suite ends. */
export async function serving(
  args: readonly string[],
  {
    env = { OBSYNC_SERVE_TOKEN: SERVE_TOKEN },
    whenDone = onTestFinished,
  }: { env?: Readonly<Record<string, string>>; whenDone?: typeof onTestFinished } = {},
): Promise<Serving> {
  const { ended, logged, printed, said, kill } = start(['serve', '--port', '0', ...args], { env });
  whenDone(async () => {
    kill('SIGKILL');
    await ended;
  });
  const url = (await printed(/\n/)).trim();
  if (url === '') throw new Error(`it ended: ${said()}`);
  return {
    url,
    ended,
    get: (path, token = SERVE_TOKEN) => getJson(`${url}${path}`, token),
    logged: async (text) => {
      await logged(text);
      if (!said().includes(text)) throw new Error(`it ended without "${text}": ${said()}`);
    },
    stderr: said,
    kill,
  };
}

async function getJson(url: string, token: string | null) {
  const answer = await fetch(url, { headers: token === null ? {} : { authorization: `Bearer ${token}` } });
  return { status: answer.status, body: await answer.json() };
}

const AT = '2026-11-20T04:10:00.000000Z';

export const withEnvironment = ({ db }: MirrorFile) =>
  void db.insert(environments).values({ id: 'e1', name: 'Production', mirrored_at: AT }).run();

/** A mirror whose list of assets exceeds the buffers of a connection. */
export function largeMirror(): string {
  return mirrorFile((mirror) => {
    withEnvironment(mirror);
    const common = {
      env_id: 'e1',
      kind: 'other',
      source_type: 'dbt',
      mirrored_at: AT,
      description: 'x'.repeat(10_000),
    };
    for (let i = 0; i < 1000; i += 500)
      mirror.db
        .insert(assets)
        .values(Array.from({ length: 500 }, (_, j) => ({ ...common, id: `a${i + j}`, name: 'a' })))
        .run();
  });
}

/** A mirror with so many tables that an aggregate of all takes a while. */
export function manyTables(path = 'models/marts/area/'): string {
  return mirrorFile((mirror) => {
    withEnvironment(mirror);
    mirror.connection
      .prepare(
        `insert into assets (env_id, id, name, kind, path, source_type, data_platform, db_name, schema_name, table_name,
           materialization, mirrored_at)
         with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
         select 'e1', 'a' || i, 'n', 'table', ? || i, 'dbt', 's', 'd', 's', 't', 'view', ? from n`,
      )
      .run(path, AT);
  });
}

/** Resolves when the server no longer accepts connections. */
export async function refused(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  for (;;) {
    const socket = connect(Number(port), hostname);
    const taken = await new Promise((resolve) =>
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false)),
    );
    socket.destroy();
    if (!taken) return;
  }
}
