import { onTestFinished } from 'vitest';
import { furnish } from '../model/furnish.ts';
import { createWorld } from '../model/world.ts';
import { serveWorld } from './world-server.ts';

/** Furnished environments behind a real server, which closes when the test ends; `quota` as for `serveWorld`. */
export async function servedWorld(
  ids: readonly string[] = ['e1'],
  quota?: Parameters<typeof serveWorld>[1],
  whenDone = onTestFinished,
) {
  const world = createWorld(ids);
  for (const place of world.environments.values()) furnish(place);
  const server = await serveWorld(world, quota);
  whenDone(() => server.close());
  return { world, server };
}
