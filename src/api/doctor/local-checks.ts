import { proxyHostOf } from '../../source/proxies.ts';
import type { FoundFact, LocalFacts } from './local-facts.ts';
import { type CheckVerdict, type DoctorCheck, ok, problem, skipped, warning } from './verdict.ts';

/** The checks that need no network, but for a mirror in PostgreSQL. */
export const LOCAL_CHECKS: readonly DoctorCheck<LocalFacts>[] = [
  ['version', ({ versions: { obsync, node, sqlite } }) => ok(`obsync ${obsync} on Node ${node} with SQLite ${sqlite}`)],
  ['token', tokenVerdict],
  ['address', ({ service }) => judged(service, ({ baseUrl }) => ok(baseUrl))],
  ['proxy', proxyVerdict],
  ['database', ({ database }) => database && judged(database, databaseVerdict)],
  ['mirror', ({ mirror }) => mirror && judged(mirror, mirrorVerdict)],
  ['permissions', ({ file }) => file && permissionsVerdict(file)],
  ['file system', ({ file }) => (file?.isThere ? fileSystemVerdict(file) : null)],
  ['disk', ({ file }) => (file?.isThere ? diskVerdict(file) : null)],
];

function judged<Value>(fact: FoundFact<Value>, judge: (value: Value) => CheckVerdict): CheckVerdict {
  return 'error' in fact ? problem(fact.error.message) : judge(fact.value);
}

type ValueOf<Found> = Found extends { readonly value: infer Value } ? Value : never;
type FileFacts = NonNullable<LocalFacts['file']>;

function tokenVerdict({ token, openTokenFile }: LocalFacts): CheckVerdict {
  if ('value' in token && openTokenFile !== null)
    return warning(`every user of this machine can read ${token.value.tokenFrom}`, `Run chmod 600 ${openTokenFile}.`);
  return judged(token, ({ tokenFrom }) => ok(`in ${tokenFrom}`));
}

function proxyVerdict({ service }: LocalFacts): CheckVerdict | null {
  if ('error' in service) return null;
  const { baseUrl, proxies } = service.value;
  const proxy = proxyHostOf(baseUrl, proxies);
  if (proxy === null) return ok('none: the connection is direct');
  return ok(proxies.noProxy === '' ? proxy : `${proxy}, except for the hosts in NO_PROXY (${proxies.noProxy})`);
}

function databaseVerdict(facts: ValueOf<LocalFacts['database']>): CheckVerdict {
  const { version, encoding, user, schema, isSchemaThere, mayCreate } = facts;
  const server = `PostgreSQL ${version}, ${encoding}, as ${user}`;
  if (mayCreate) return ok(`${server}: the schema ${schema} ${isSchemaThere ? 'is there' : 'can be created'}`);
  const [missing, grant] = isSchemaThere
    ? [`tables in the schema ${schema}`, `alter schema "${schema}" owner to "${user}"`]
    : [`the schema ${schema}`, `create schema "${schema}" authorization "${user}"`];
  return problem(`${server}: this user may not create ${missing}`, `Let an administrator run: ${grant}`);
}

function mirrorVerdict({ display, found, last }: ValueOf<LocalFacts['mirror']>): CheckVerdict {
  if (found === 0) return ok(`${display} does not exist yet: the first sync creates it`);
  const tables = `${display}, with the tables of ${new Date(found).toISOString().slice(0, 10)}`;
  if (found === last) return ok(`${tables}, which are up to date`);
  return warning(`${tables}, of an older obsync`, 'The next sync, or `obsync migrate`, brings them up to date.');
}

function permissionsVerdict({ folder, isThere, unwritable, ownerId, userId }: FileFacts): CheckVerdict {
  if (!isThere) return problem(`the folder ${folder} does not exist`, 'Make it, or name another file with --db.');
  const advice = 'Run obsync as the owner of the folder and the mirror.';
  if (unwritable.length > 0) return problem(`this user may not write ${unwritable.join(', ')}`, advice);
  if (ownerId !== null && userId !== undefined && ownerId !== userId)
    return warning(`the mirror belongs to user ${ownerId}, and this is user ${userId}`, advice);
  return ok(`the mirror, its -wal and its -shm can be written in ${folder}`);
}

function fileSystemVerdict({ isNetworkKnown, networkFs, allowNetworkFs }: FileFacts): CheckVerdict {
  if (!isNetworkKnown) return skipped('only Linux says whether it is local');
  if (networkFs === null) return ok('local');
  const text = `a network file system (${networkFs}), where SQLite can lose rows`;
  const advice = 'Put the mirror on a local disk or into PostgreSQL.';
  return allowNetworkFs ? warning(`${text}, allowed by --allow-network-fs`, advice) : problem(text, advice);
}

const MIB = 1024 ** 2;

/** Less than this, and even a sync that brings little may fail. */
const LEAST_BYTES = 64 * MIB;

function diskVerdict({ freeBytes, bytes }: FileFacts): CheckVerdict {
  const mirror = bytes === 0 ? '' : `, and the mirror takes ${Math.ceil(bytes / MIB)} MiB`;
  const text = `${Math.floor(freeBytes / MIB)} MiB free${mirror}`;
  if (freeBytes < LEAST_BYTES) return problem(text, 'Make room.');
  if (freeBytes < bytes) return warning(text, 'A full scan may need as much again as the mirror takes: make room.');
  return ok(text);
}
