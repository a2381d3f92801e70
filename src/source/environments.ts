import { MAX_RESTARTS, readPages } from '../core/decide/paging.ts';
import { endsRun, SyncError } from '../core/errors.ts';
import { isJsonObject } from '../core/json.ts';
import type { Page } from '../core/ports/source.ts';
import { fetchRequestOf, type SourceConnection } from './connection.ts';
import { decodeEnvironments } from './envelope.ts';
import { fetchWhole } from './fetch-whole.ts';
import { endpointPath } from './target.ts';

const PATH = ['environments'];
const ADVICE = 'Check the base URL.';

/** Fetches all environments, which come as an array or in pages (R8). @throws SyncError that ends the run */
export async function fetchEnvironments(connection: SourceConnection): Promise<readonly unknown[]> {
  try {
    const items = await readAll(connection);
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

/** The loop ends: the list is finite, and it restarts at most three times (R7). */
async function readAll(connection: SourceConnection): Promise<readonly unknown[]> {
  for (let restarts = 0; ; restarts++) {
    const items: unknown[] = [];
    let pages = 0;
    try {
      await readPages(
        (cursor) => fetchPage(connection, cursor),
        (page) => {
          pages += 1;
          for (const item of page.items) items.push(item);
        },
        // Without a further cursor, the environments of the remaining pages would count as missing.
        (fault) => `GET ${endpointPath(PATH)} ${fault}. ${ADVICE}`,
      );
      return items;
    } catch (error) {
      // Only a cursor can be refused as unknown, and the first page has none (R7).
      const isRestart = error instanceof SyncError && error.recovery === 'restart-read';
      if (!isRestart || pages === 0 || restarts === MAX_RESTARTS) throw error;
    }
  }
}

function fetchPage(connection: SourceConnection, cursor: string | null): Promise<Page> {
  const request = fetchRequestOf(connection, { path: PATH, query: {}, cursor }, decodeEnvironments, ADVICE);
  return fetchWhole(connection, { ...request, beginsRun: cursor === null });
}
