import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Client } from 'pg';
import {
  errorMessage,
  greeting,
  isCancellation,
  isRequestForEncryption,
  messageReader,
  startupOptions,
  type WireMessage,
} from './wire.ts';

/** A pooler in front of a server that assigns server connections per transaction, like PgBouncer. */
export interface TransactionPooler {
  /** The address of the same database behind the pooler. */
  readonly url: string;
  /** How often a client was given a server connection: once per transaction. */
  readonly lendings: () => number;
  close(): Promise<void>;
}

/** The parameters that PgBouncer accepts at connection startup. It refuses all others. */
const ACCEPTED = new Set([
  'user',
  'database',
  'application_name',
  'client_encoding',
  'datestyle',
  'intervalstyle',
  'standard_conforming_strings',
  'timezone',
]);

const SETTINGS: ReadonlyMap<string, string> = new Map([
  ['server_version', '18.0'],
  ['server_encoding', 'UTF8'],
  ['client_encoding', 'UTF8'],
  ['standard_conforming_strings', 'on'],
  ['integer_datetimes', 'on'],
]);

/** A connection to the server and the client that currently uses it. */
interface ServerConnection {
  readonly socket: Socket;
  borrower: PooledClient | null;
}

interface PooledClient {
  readonly socket: Socket;
  /** The connection of the current transaction. */
  server: ServerConnection | null;
  /** The previous connection, which is not assigned again next, so session state is lost. */
  last: ServerConnection | null;
  /** Messages of the client that wait for a server connection. */
  waiting: WireMessage[];
  /** How many sent messages the server still has to answer with ReadyForQuery. */
  unanswered: number;
}

/** Starts a pooler on loopback with `size` server connections, at least two. */
export async function transactionPooler(serverUrl: string, size = 4): Promise<TransactionPooler> {
  const pool = new ConnectionPool(serverUrl, size);
  const listener = createServer({ noDelay: true }, (socket) => admit(socket, pool));
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const url = new URL(serverUrl);
  url.host = `127.0.0.1:${(listener.address() as AddressInfo).port}`;
  return {
    url: url.href,
    lendings: () => pool.lendings,
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        pool.close();
      }),
  };
}

/** Answers a client's startup messages and passes the rest to the pool. */
function admit(socket: Socket, pool: ConnectionPool): void {
  const client: PooledClient = { socket, server: null, last: null, waiting: [], unanswered: 0 };
  const read = messageReader(true);
  const receive = ({ type, bytes }: WireMessage): void => {
    if (type === 'X' || (type === '' && isCancellation(bytes))) socket.end();
    else if (type !== '') pool.send(client, { type, bytes });
    else if (isRequestForEncryption(bytes)) socket.write('N');
    else {
      const refused = [...startupOptions(bytes).keys()].find((name) => !ACCEPTED.has(name.toLowerCase()));
      if (refused === undefined) socket.write(greeting(pool.add(client), SETTINGS));
      else socket.end(errorMessage('08P01', `unsupported startup parameter: ${refused}`));
    }
  };
  socket.on('data', (chunk) => {
    for (const message of read(chunk)) receive(message);
  });
  socket.on('error', () => {});
  socket.on('close', () => pool.remove(client));
}

/** The server connections and the clients that share them. */
class ConnectionPool {
  lendings = 0;
  readonly #serverUrl: string;
  readonly #size: number;
  readonly #connections = new Set<ServerConnection>();
  readonly #clients = new Set<PooledClient>();
  #opening = 0;
  #isClosed = false;
  #pid = FIRST_PID;

  constructor(serverUrl: string, size: number) {
    this.#serverUrl = serverUrl;
    this.#size = size;
  }

  /** @returns the process id that the client receives */
  add(client: PooledClient): number {
    this.#clients.add(client);
    this.#pid += 1;
    return this.#pid;
  }

  /** Rolls back a transaction that the client left open. */
  remove(client: PooledClient): void {
    this.#clients.delete(client);
    client.server?.socket.destroy();
  }

  send(client: PooledClient, message: WireMessage): void {
    if (client.server === null) client.waiting.push(message);
    else this.#forward(client, client.server, message);
    this.#serve();
  }

  close(): void {
    this.#isClosed = true;
    for (const { socket } of [...this.#clients, ...this.#connections]) socket.destroy();
  }

  /** Assigns free connections to waiting clients. */
  #serve(): void {
    for (const client of this.#clients) {
      if (client.server !== null || client.waiting.length === 0) continue;
      const free = [...this.#connections].find((each) => each.borrower === null && each !== client.last);
      if (free !== undefined) this.#lend(client, free);
      else if (this.#connections.size + this.#opening < this.#size) void this.#open(client);
    }
  }

  #lend(client: PooledClient, server: ServerConnection): void {
    this.lendings += 1;
    Object.assign(client, { server, last: server });
    server.borrower = client;
    for (const message of client.waiting.splice(0)) this.#forward(client, server, message);
  }

  #forward(client: PooledClient, server: ServerConnection, { type, bytes }: WireMessage): void {
    if (ANSWERED_BY_READY.has(type)) client.unanswered += 1;
    server.socket.write(bytes);
  }

  async #open(client: PooledClient): Promise<void> {
    this.#opening += 1;
    try {
      const socket = await serverSocket(this.#serverUrl);
      if (this.#isClosed) socket.destroy();
      else this.#attend({ socket, borrower: null });
    } catch (error) {
      client.socket.end(errorMessage('08006', `the pooler has no server: ${(error as Error).message}`));
    } finally {
      this.#opening -= 1;
    }
    this.#serve();
  }

  #attend(server: ServerConnection): void {
    const read = messageReader(false);
    this.#connections.add(server);
    server.socket.on('data', (chunk) => {
      for (const message of read(chunk)) this.#answer(server, message);
    });
    server.socket.on('error', () => {});
    server.socket.on('close', () => {
      this.#connections.delete(server);
      server.borrower?.socket.destroy();
      this.#serve();
    });
  }

  #answer(server: ServerConnection, { type, bytes }: WireMessage): void {
    const client = server.borrower;
    client?.socket.write(bytes);
    if (client === null || type !== 'Z') return;
    client.unanswered -= 1;
    if (bytes[5] !== IDLE || client.unanswered > 0) return;
    client.server = null;
    server.borrower = null;
    // Appended, so connections take turns.
    this.#connections.delete(server);
    this.#connections.add(server);
    this.#serve();
  }
}

/** `Query`, `Sync` and `FunctionCall`. */
const ANSWERED_BY_READY: ReadonlySet<string> = new Set(['Q', 'S', 'F']);

const IDLE = 'I'.charCodeAt(0);

/** Higher than any real process id. */
const FIRST_PID = 1_000_000_000;

/** Connects and lets the driver log in. Afterwards the pooler uses the socket. */
async function serverSocket(url: string): Promise<Socket> {
  const client = new Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  const { connection } = client as unknown as { connection: { stream: Socket; removeAllListeners(): void } };
  connection.removeAllListeners();
  const { stream } = connection;
  for (const event of ['data', 'close', 'end', 'error']) stream.removeAllListeners(event);
  return stream;
}
