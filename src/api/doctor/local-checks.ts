import type { ServerFacts } from '../../destination/postgres/server-facts.ts';
import { type ProxySettings, proxyHostOf } from '../../source/proxies.ts';
import { type CheckVerdict, type DoctorCheck, type FoundFact, ok, problem, warning } from './verdict.ts';

/** What is known without asking the service. */
export interface LocalFacts {
  readonly versions: { readonly obsync: string; readonly node: string; readonly sqlite: string };
  readonly token: FoundFact<{
    readonly tokenFrom: string;
    readonly tokenFile: string | null;
    readonly isReadByAll: boolean;
  }>;
  readonly service: FoundFact<{ readonly baseUrl: string; readonly proxies: ProxySettings }>;
  readonly mirror: FoundFact<MirrorFacts>;
  /** Null for a mirror in PostgreSQL. */
  readonly file: FileFacts | null;
  /** Null for a mirror in a file. */
  readonly database: FoundFact<ServerFacts> | null;
}

/** The mirror, as far as this build reads it. */
interface MirrorFacts {
  readonly display: string;
  /** The time of its last migration, in milliseconds since 1970; 0 if there is no mirror. */
  readonly version: number;
  /** That of this build. */
  readonly lastVersion: number;
}

/** The place of a mirror in a file. */
export interface FileFacts {
  readonly folder: string;
  readonly isThere: boolean;
  /** The folder and files that this user needs to write and may not. */
  readonly unwritable: readonly string[];
  /** The user ids of the mirror's owner and of this process; null without a mirror, or where there are none. */
  readonly owner: { readonly uid: number; readonly ownUid: number } | null;
  readonly isNetworkKnown: boolean;
  readonly networkFs: string | null;
  readonly allowNetworkFs: boolean;
  readonly freeBytes: number;
  /** Of the mirror, with its log. */
  readonly bytes: number;
}

export const LOCAL_CHECKS: readonly DoctorCheck<LocalFacts>[] = [
  {
    name: 'version',
    verdict: ({ versions }) => ok(`obsync ${versions.obsync} on Node ${versions.node} with SQLite ${versions.sqlite}`),
  },
  { name: 'token', verdict: ({ token }) => judged(token, tokenVerdict) },
  { name: 'address', verdict: ({ service }) => judged(service, ({ baseUrl }) => ok(baseUrl)) },
  { name: 'proxy', verdict: ({ service }) => ('error' in service ? null : proxyVerdict(service.value)) },
  { name: 'database', verdict: ({ database }) => database && judged(database, databaseVerdict) },
  { name: 'mirror', verdict: mirrorVerdict },
  { name: 'permissions', verdict: ({ file }) => file && permissionsVerdict(file) },
  { name: 'file system', verdict: ({ file }) => (file?.isThere ? fileSystemVerdict(file) : null) },
  { name: 'disk', verdict: ({ file }) => (file?.isThere ? diskVerdict(file) : null) },
];

function judged<Value>(fact: FoundFact<Value>, judge: (value: Value) => CheckVerdict): CheckVerdict {
  return 'error' in fact ? problem(fact.error) : judge(fact.value);
}

type ValueOf<Found> = Found extends { readonly value: infer Value } ? Value : never;

function tokenVerdict({ tokenFrom, tokenFile, isReadByAll }: ValueOf<LocalFacts['token']>): CheckVerdict {
  if (isReadByAll) return warning(`every user of this machine can read ${tokenFrom}`, `Run chmod 600 ${tokenFile}.`);
  return ok(`in ${tokenFrom}`);
}

function proxyVerdict({ baseUrl, proxies }: ValueOf<LocalFacts['service']>): CheckVerdict {
  const proxy = proxyHostOf(baseUrl, proxies);
  if (proxy === null) return ok('none: the connection is direct');
  return ok(proxies.noProxy === '' ? proxy : `${proxy}, except for the hosts in NO_PROXY (${proxies.noProxy})`);
}

function databaseVerdict({ version, encoding, user, schema, isSchemaThere, mayCreate }: ServerFacts): CheckVerdict {
  const server = `PostgreSQL ${version}, ${encoding}, as ${user}`;
  if (mayCreate) return ok(`${server}: the schema ${schema} ${isSchemaThere ? 'is there' : 'can be created'}`);
  const [missing, grant] = isSchemaThere
    ? [`tables in the schema ${schema}`, `alter schema "${schema}" owner to "${user}"`]
    : [`the schema ${schema}`, `create schema "${schema}" authorization "${user}"`];
  return problem(`${server}: this user may not create ${missing}`, `Let an administrator run: ${grant}`);
}

function mirrorVerdict({ mirror, file, database }: LocalFacts): CheckVerdict | null {
  // Another check says that its place cannot be reached.
  if (file?.isThere === false || (database !== null && 'error' in database)) return null;
  return judged(mirror, ({ display, version, lastVersion }) => {
    if (version === 0) return ok(`${display} does not exist yet: the first sync creates it`);
    const tables = `${display}, with the tables of ${new Date(version).toISOString().slice(0, 10)}`;
    if (version === lastVersion) return ok(`${tables}, which are up to date`);
    return warning(`${tables}, of an older obsync`, 'The next sync, or `obsync migrate`, brings them up to date.');
  });
}

function permissionsVerdict({ folder, isThere, unwritable, owner }: FileFacts): CheckVerdict {
  if (!isThere) return problem(`the folder ${folder} does not exist`, 'Make it, or name another file with --db.');
  if (unwritable.length > 0)
    return problem(
      `this user may not write ${unwritable.join(', ')}`,
      'SQLite creates -wal and -shm files beside the mirror. Run obsync as the owner of the folder.',
    );
  if (owner !== null && owner.uid !== owner.ownUid)
    return warning(
      `the mirror belongs to user ${owner.uid}, and this is user ${owner.ownUid}`,
      'Run obsync as its owner, who may not be able to write the files that this user creates.',
    );
  return ok(`the mirror, its -wal and its -shm can be written in ${folder}`);
}

function fileSystemVerdict({ isNetworkKnown, networkFs, allowNetworkFs }: FileFacts): CheckVerdict {
  if (!isNetworkKnown) return { status: 'skipped', text: 'only Linux says whether it is local', advice: null };
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
