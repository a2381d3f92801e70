import { Client, type ClientBase, type ClientConfig } from 'pg';
import { LEASE_MS } from '../../core/schedule/lease.ts';
import { destroyConnection, processIdOf, socketOf } from './driver-internals.ts';
import { sqlStateOf, TOO_MANY_CONNECTIONS } from './server-error.ts';

/** How to connect to a server, and how long a connection may be silent while an answer is outstanding. */
export interface AnswerTimeout {
  /** For the driver. The password is a function, so printing this never reveals it. */
  readonly client: ClientConfig;
  /** In milliseconds; by default, the time of a lease. */
  readonly answerTimeoutMs?: number | undefined;
}

/**
 * Destroys an open connection with an overdue answer, so its user can open another one: if a firewall drops the
 * connection, there is no error. Time alone proves nothing, because a statement may take hours. So halfway through, a
 * second connection asks whether the server is still working on the statement, and the wait starts over if it is.
 */
export function endWhenSilent(
  client: ClientBase,
  { client: config, answerTimeoutMs = LEASE_MS }: AnswerTimeout,
  onSilent: () => void = () => {},
): void {
  const socket = socketOf(client);
  const transferred = (): number => socket.bytesRead + socket.bytesWritten;
  let doubt: { readonly transferred: number; readonly probe: Client } | null = null;
  const discardProbe = (): void => {
    if (doubt !== null) socketOf(doubt.probe).destroy();
    doubt = null;
  };
  const restartTimer = (): void => void socket.setTimeout(answerTimeoutMs / 2);
  socket.on('timeout', () => {
    const statement = outstandingStatement(client);
    const isDoubted = doubt?.transferred === transferred();
    if (isEnding(client) || (statement !== null && isDoubted)) {
      onSilent();
      return destroyConnection(client);
    }
    discardProbe();
    restartTimer();
    if (statement === null) return;
    const probe = new Client({ ...config, connectionTimeoutMillis: answerTimeoutMs / 2 });
    doubt = { transferred: transferred(), probe };
    void isAtWork(probe, processIdOf(client), statement).then((atWork) => {
      if (atWork && doubt?.probe === probe) discardProbe();
    });
  });
  socket.once('close', discardProbe);
  restartTimer();
}

/** Limits the wait for a connection that is about to be closed. */
export function hasten(client: ClientBase): void {
  socketOf(client).setTimeout(CLOSE_MS);
}

const CLOSE_MS = 1000;

/** The driver's record of its statements; its types don't name it. */
interface DriverState {
  readonly _ending: boolean;
  readonly _activeQuery: DriverStatement | null | undefined;
  readonly _sentQueryQueue: readonly DriverStatement[];
  readonly _queryQueue: readonly DriverStatement[];
}

interface DriverStatement {
  readonly text?: string;
  /** The state of a cursor, which is `idle` while its reader is busy. */
  readonly state?: string;
}

function isEnding(client: ClientBase): boolean {
  return (client as unknown as DriverState)._ending;
}

/** The text of the oldest outstanding statement; null if there is none. */
function outstandingStatement(client: ClientBase): string | null {
  const { _activeQuery, _sentQueryQueue, _queryQueue } = client as unknown as DriverState;
  const oldest = _activeQuery ?? _sentQueryQueue[0] ?? _queryQueue[0];
  return oldest === undefined || oldest.state === 'idle' ? null : (oldest.text ?? '');
}

/** Behind a pooler no backend has the process id that the client was given, so the statement's text identifies it. */
const AT_WORK = `select coalesce(
    (select state not like 'idle%' from pg_stat_activity where pid = $1 and state is not null),
    exists (select from pg_stat_activity where state = 'active' and query <> '' and starts_with($2, query))) as at_work`;

/** Whether the server is working on a statement of another connection. A server that does not respond is not. */
async function isAtWork(probe: Client, processId: number | null, statement: string): Promise<boolean> {
  probe.on('error', () => {});
  try {
    await probe.connect();
    const { rows } = await probe.query<{ at_work: boolean }>(AT_WORK, [processId, statement]);
    return rows[0]?.at_work === true;
  } catch (error) {
    // The server is alive, but has no spare connection for the question.
    return sqlStateOf(error) === TOO_MANY_CONNECTIONS;
  }
}
