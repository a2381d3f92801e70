import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type EnvironmentModel,
  execute,
  putAsset,
  putAssetEdge,
  putColumn,
  putColumnEdges,
  putScore,
  putTest,
  remove,
  removeAsset,
} from '../../test/model/environment.ts';
import { errorReply } from '../../test/model/replies.ts';
import { createWorld, DAY, HOUR, type World } from '../../test/model/world.ts';
import type { ApiServer, Reply } from '../../test/support/api-server.ts';
import { serveWorld } from '../../test/support/world-server.ts';
import { differences, serviceRows } from './compare.ts';
import { type Place, type Program, type Run, start } from './programs.ts';

/** What a situation may do: change the service, run the program, and disturb a request of the next run. */
interface Scene {
  readonly world: World;
  readonly env: EnvironmentModel;
  /** Runs the program to its end. @returns whether it succeeded */
  sync(): Promise<boolean>;
  /** Kills the run at a request. */
  killAt(request: number): Promise<void>;
  /** Calls the function at a request of the next run. It may return an error instead of the page. */
  at(request: number, happens: () => Reply | undefined): void;
}

const ASSETS = 40;
const COLUMNS = 120;
const ENVIRONMENT = 'e1';

/** A program's rows are compared at the end of each. */
export const SITUATIONS: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  'first sync': ({ sync }) => sync(),
  'nothing changed': async ({ sync }) => (await sync()) && sync(),
  '1 % changed': async (scene) => {
    await synced(scene);
    for (let n = 0; n < ASSETS * COLUMNS; n += 100) changeColumn(scene.env, n);
    putAsset(scene.env, 'asset 7', { description: 'changed' });
    execute(scene.env, 'test 3', 'test 3 again', { status: 'FAIL' });
    await synced(scene);
  },
  'rows deleted': async (scene) => {
    await synced(scene);
    for (let n = 0; n < 100; n++) remove(scene.env, 'columns', columnId(n));
    remove(scene.env, 'tests', 'test 5');
    removeAsset(scene.env, 'asset 9', 'tombstone');
    await synced(scene);
  },
  'killed half-way, then run again': async (scene) => {
    await scene.killAt(8);
    await synced(scene);
  },
  'rows shift between pages': async (scene) => {
    for (const request of [4, 6, 8])
      scene.at(request, () => {
        putColumn(scene.env, `column 0 inserted at ${request}`, 'asset 1');
        remove(scene.env, 'columns', columnId(request));
        return undefined;
      });
    await synced(scene);
    await synced(scene);
  },
  '429 with Retry-After': async ({ at, sync }) => {
    for (const request of [3, 7, 8]) at(request, () => errorReply(429, 'rate_limited', { 'retry-after': '2' }));
    await sync();
  },
  'three answers 503': async ({ at, sync }) => {
    for (const request of [3, 7, 8]) at(request, () => errorReply(503, 'internal_error'));
    await sync();
  },
  'a row five minutes late': (scene) => lateBy(scene, 300),
  'a row two hours late': (scene) => lateBy(scene, 2 * HOUR),
  'assets hidden from the token': async (scene) => {
    await synced(scene);
    scene.env.hidden.add('asset 3').add('asset 4');
    await synced(scene);
  },
  '95 days without a sync': async (scene) => {
    await synced(scene);
    for (let n = 0; n < 20; n++) remove(scene.env, 'columns', columnId(n));
    for (let n = 100; n < 120; n++) changeColumn(scene.env, n);
    scene.world.advance(95 * DAY);
    await synced(scene);
  },
};

/** A sync and the pause after it. */
async function synced({ world, sync }: Scene): Promise<void> {
  await sync();
  world.advance(2 * HOUR);
}

/** A row becomes visible after later ones were read. */
async function lateBy(scene: Scene, seconds: number): Promise<void> {
  const { world, env } = scene;
  await synced(scene);
  world.commitLate(seconds, () => changeColumn(env, 1));
  world.advance(seconds / 2);
  changeColumn(env, 2);
  await scene.sync();
  world.advance(seconds + 2 * HOUR);
  changeColumn(env, 3);
  await synced(scene);
}

const columnId = (n: number): string => `column ${String(n).padStart(5, '0')}`;

function changeColumn(env: EnvironmentModel, n: number): void {
  putColumn(env, columnId(n), `asset ${Math.floor(n / COLUMNS)}`, { data_type: `changed ${env.stamp()}` });
}

function furnish(env: EnvironmentModel): void {
  for (let a = 0; a < ASSETS; a++) {
    putAsset(env, `asset ${a}`, { kind: 'table', description: 'new', path: 'models' });
    for (let c = a * COLUMNS; c < (a + 1) * COLUMNS; c++) putColumn(env, columnId(c), `asset ${a}`);
    putTest(env, `test ${a}`, `asset ${a}`);
    execute(env, `test ${a}`, `test ${a} first`);
    putScore(env, `asset ${a}`, a / 100);
    if (a > 0) putAssetEdge(env, `asset ${a - 1}`, `asset ${a}`);
  }
  for (let c = 0; c < ASSETS; c++) putColumnEdges(env, columnId(c * COLUMNS + 1), [columnId(c), columnId(c + 5)]);
}

/** @returns how the program's rows differ from the service's in the end; empty if they are right */
export async function outcome(program: Program, situation: (scene: Scene) => Promise<unknown>): Promise<string[]> {
  // The service's time is in the past throughout, also for programs that use the clock of this machine.
  const world = createWorld([ENVIRONMENT], new Date(Date.now() - 100 * DAY * 1000).toISOString());
  const env = world.environment();
  furnish(env);
  world.advance(HOUR);
  const service = await serve(world);
  const place = { url: service.server.url, environment: ENVIRONMENT, folder: mkdtempSync(join(tmpdir(), 'peers-')) };
  try {
    await situation(sceneOf(program, place, { world, env, service }));
    return differences(await serviceRows(place), program.rows(place));
  } catch (error) {
    return [String(error).split('\n')[0] ?? ''];
  } finally {
    await service.server.close();
    rmSync(place.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

interface Service {
  readonly server: ApiServer;
  /** What happens at a request of the current run, by its number. */
  readonly events: Map<number, () => Reply | undefined>;
  beginRun(): void;
}

async function serve(world: World): Promise<Service> {
  const events: Service['events'] = new Map();
  let earlier = 0;
  const server = await serveWorld(world, undefined, (number) => events.get(number - earlier)?.());
  return {
    server,
    events,
    beginRun() {
      earlier = server.requests.length;
    },
  };
}

function sceneOf(
  program: Program,
  place: Place,
  { world, env, service }: { world: World; env: EnvironmentModel; service: Service },
): Scene {
  const begin = (): Run => {
    service.beginRun();
    return start(program, place);
  };
  return {
    world,
    env,
    async sync() {
      const { code, errors } = await begin().ended;
      service.events.clear();
      if (code !== 0 && process.env['PEERS_ERRORS']) console.error(errors);
      return code === 0;
    },
    async killAt(request) {
      const run = begin();
      service.events.set(request, () => {
        run.kill();
        return undefined;
      });
      await run.ended;
      service.events.clear();
    },
    at: (request, happens) => void service.events.set(request, happens),
  };
}
