import { cursorFault, MAX_RESTARTS } from '../core/decide/paging.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import { isJsonObject } from '../core/json.ts';
import type { Page } from '../core/ports/source.ts';
import { describeRequest, type SourceConnection } from './connection.ts';
import { decodeEnvironments } from './envelope.ts';
import { fetchWhole } from './fetch-whole.ts';
import { endpointPath, pageTarget } from './target.ts';

const PATH = ['environments'];
const ADVICE = 'Check the base URL.';

/**
 * Fetches all environments, which come as an array or in pages (R8).
 * @throws SyncError that ends the run
 */
export async function fetchEnvironments(connection: SourceConnection): Promise<readonly unknown[]> {
  try {
    const items = await readPages(connection);
    connection.environments = items.flatMap((item) =>
      isJsonObject(item) && typeof item['id'] === 'string' ? [item['id']] : [],
    );
    return items;
  } catch (error) {
    if (!(error instanceof SyncError) || endsRun(error)) throw error;
    // There is no run without the environments.
    throw new SyncError('run', `Cannot list the environments: ${error.message}`, { cause: error.cause });
  }
}

/** The loop ends: no cursor is used twice (R8), the list is finite, and it restarts at most three times (R7). */
async function readPages(connection: SourceConnection): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  const visited = new Set<string>();
  let restarts = 0;
  for (let cursor: string | null = null; ; ) {
    const page: Page | null = await fetchPage(connection, cursor, restarts < MAX_RESTARTS);
    if (page === null) {
      restarts += 1;
      items.length = 0;
      visited.clear();
      cursor = null;
      continue;
    }
    for (const item of page.items) items.push(item);
    refuseBadCursor(page, visited);
    if (!page.hasMore) return items;
    cursor = page.nextCursor as string;
    visited.add(cursor);
  }
}

/** @returns null if the service no longer knows the cursor and the list may restart (R7) */
async function fetchPage(
  connection: SourceConnection,
  cursor: string | null,
  mayRestart: boolean,
): Promise<Page | null> {
  const target = pageTarget({ path: PATH, query: {}, cursor });
  try {
    return await fetchWhole(connection, {
      path: PATH,
      target,
      description: describeRequest(connection, PATH, ADVICE),
      decode: decodeEnvironments,
      onRequest: undefined,
      beginsRun: cursor === null,
    });
  } catch (error) {
    const isRestart = error instanceof SyncError && error.recovery === 'restart-read';
    if (isRestart && cursor !== null && mayRestart) return null;
    throw error;
  }
}

/** @throws SyncError without a further cursor: the environments of the remaining pages would count as missing */
function refuseBadCursor(page: Page, visited: ReadonlySet<string>): void {
  const fault = cursorFault(page, (cursor) => visited.has(cursor));
  if (fault !== null) throw new SyncError('restart-round', `GET ${endpointPath(PATH)} ${fault}. ${ADVICE}`);
}
