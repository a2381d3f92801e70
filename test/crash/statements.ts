import Database from 'better-sqlite3';

/** What a program sends to SQLite: the text of a statement, or `close`. */
export interface Sent {
  readonly sql: string;
  readonly connection: Database.Database | null;
}

/** Called before and after each statement of any connection in this process. May throw instead. */
export interface Watcher {
  before(sent: Sent): void;
  after(sent: Sent): void;
}

type Method = (this: object, ...given: unknown[]) => unknown;

/** Every statement passes through one of these, including `BEGIN`, `COMMIT` and those of drizzle. */
const EDGE = edge();

function edge(): { of: Record<string, Method>; name: string }[] {
  const connection = new Database(':memory:');
  const statements = Object.getPrototypeOf(connection.prepare('select 1')) as Record<string, Method>;
  connection.close();
  const connections = Database.prototype as unknown as Record<string, Method>;
  return [
    ...['run', 'get', 'all', 'iterate'].map((name) => ({ of: statements, name })),
    ...['exec', 'close'].map((name) => ({ of: connections, name })),
  ];
}

/** Watches all statements of the body, but not those of the watcher itself. */
export async function watchingStatements<T>(watcher: Watcher, body: () => Promise<T>): Promise<T> {
  const own = EDGE.map(({ of, name }) => of[name] as Method);
  let watching = true;
  const tell = (when: 'before' | 'after', sent: Sent): void => {
    watching = false;
    try {
      watcher[when](sent);
    } finally {
      watching = true;
    }
  };
  EDGE.forEach(({ of, name }, i) => {
    of[name] = function (...given) {
      const method = own[i] as Method;
      if (!watching) return method.apply(this, given);
      const sent = sentBy(this, name, given);
      tell('before', sent);
      const result = method.apply(this, given);
      tell('after', sent);
      return result;
    };
  });
  try {
    return await body();
  } finally {
    EDGE.forEach(({ of, name }, i) => {
      of[name] = own[i] as Method;
    });
  }
}

function sentBy(by: object, name: string, given: readonly unknown[]): Sent {
  if (name === 'close') return { sql: 'close', connection: null };
  if (name === 'exec') return { sql: String(given[0]), connection: by as Database.Database };
  const { source, database } = by as Database.Statement;
  return { sql: source, connection: database };
}
