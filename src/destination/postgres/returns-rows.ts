import type { Client, Connection, Submittable } from 'pg';

/** Whether a statement returns rows; the server tells without running any of it. */
export function returnsRows(client: Client, sql: string): Promise<boolean> {
  return new Promise((resolve, reject) => void client.query(describing(sql, resolve, reject)));
}

/** The driver has no call to describe a statement, so this object implements what it expects of a query. */
function describing(text: string, done: (hasRows: boolean) => void, failed: (error: Error) => void) {
  let hasRows = false;
  return {
    submit(connection: Connection) {
      connection.parse({ name: '', text, types: [] }, true);
      connection.describe({ type: 'S', name: '' }, true);
      connection.sync();
    },
    handleRowDescription() {
      hasRows = true;
    },
    handleReadyForQuery: () => done(hasRows),
    handleError: failed,
  } satisfies Submittable & Readonly<Record<string, unknown>>;
}
