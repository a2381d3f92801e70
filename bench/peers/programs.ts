import { execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { installRequirements } from '../../test/consumers/install-requirements.ts';
import { ended, type Usage } from '../measure.ts';
import type { Item } from '../world.ts';

/** The rows of each list, by its name in `lists.py`. */
export type Rows = Readonly<Record<string, readonly Item[]>>;

/** Where a program reads, and the folder that it writes to. */
export interface Place {
  readonly url: string;
  readonly environment: string;
  readonly folder: string;
}

export interface Program {
  readonly name: string;
  readonly command: readonly string[];
  /** The current rows, as a user would query them. */
  rows(place: Place): Rows;
}

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/peers');

/** One environment each, since their own pins exclude each other. */
const PEERS = [
  ['sqlite-utils', 'sqlite-utils, changes', 'sqlite_utils_loop.py', 'changes'],
  ['sqlite-utils', 'sqlite-utils, everything', 'sqlite_utils_loop.py', 'everything'],
  ['dlt', 'dlt to SQLite', 'dlt_pipeline.py', 'sqlite'],
  ['dlt', 'dlt to DuckDB', 'dlt_pipeline.py', 'duckdb'],
  ['singer', 'Singer SDK to SQLite', 'singer_pipeline.py', 'sqlite'],
  ['airbyte', 'PyAirbyte to DuckDB', 'airbyte_source.py', 'duckdb'],
] as const;

/** How many there are, obsync among them. */
export const PROGRAMS = PEERS.length + 1;

const TABLES: Readonly<Record<string, string>> = {
  assets: 'assets where deleted_at is null',
  table_assets: "assets where kind = 'table' and deleted_at is null",
  columns: 'columns where deleted_at is null',
  tests: 'tests where deleted_at is null',
  asset_lineage: 'asset_lineage',
  column_lineage: 'column_lineage',
  latest_test_executions: 'latest_test_executions',
  asset_health_scores: 'asset_health_scores',
};

const OBSYNC: Program = {
  name: 'obsync',
  command: [process.execPath, 'dist/main.js', 'sync', '--json', '--log-level', 'error'],
  rows({ folder }) {
    const connection = new Database(join(folder, 'obsync.db'), { readonly: true });
    const rows = Object.entries(TABLES).map(([name, table]) => [
      name,
      connection.prepare(`select * from ${table}`).all(),
    ]);
    connection.close();
    return Object.fromEntries(rows) as Rows;
  },
};

/** Of the programs whose name contains the text: obsync, and the peers that can be installed here. */
export function installPrograms(text: string): Program[] {
  const wanted = PEERS.filter(([, name]) => name.includes(text));
  const installed = new Set([...new Set(wanted.map(([venv]) => venv))].filter(install));
  const peers = wanted.filter(([venv]) => installed.has(venv)).map(peer);
  return OBSYNC.name.includes(text) ? [OBSYNC, ...peers] : peers;
}

function install(venv: string): boolean {
  const requirements = join(import.meta.dirname, `${venv}.txt`);
  const isInstalled = installRequirements(join(CACHE, venv), ['-r', requirements]);
  if (!isInstalled) console.error(`bench:peers leaves out ${venv}, which needs python3 and PyPI`);
  return isInstalled;
}

function peer([venv, name, script, variant]: (typeof PEERS)[number]): Program {
  const start = [join(CACHE, venv, 'bin/python'), join(import.meta.dirname, script)] as const;
  return {
    name,
    command: [...start, 'sync', variant],
    rows(place) {
      const output = execFileSync(start[0], [start[1], 'rows', variant], {
        env: environmentOf(place),
        maxBuffer: 2 ** 30,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      return JSON.parse(output.toString().trim().split('\n').at(-1) ?? '') as Rows;
    },
  };
}

function environmentOf({ url, environment, folder }: Place): NodeJS.ProcessEnv {
  return {
    ...process.env,
    OBSYNC_BASE_URL: url,
    OBSYNC_TOKEN: 'token',
    OBSYNC_DB: join(folder, 'obsync.db'),
    PEERS_URL: url,
    PEERS_ENV: environment,
    PEERS_FOLDER: folder,
    XDG_STATE_HOME: folder,
    XDG_CACHE_HOME: folder,
    PYTHONDONTWRITEBYTECODE: '1',
  };
}

/** A started program. `kill` ends its process and all that it started. */
export interface Run {
  readonly ended: Promise<{ readonly code: number | null; readonly errors: string }>;
  kill(): void;
}

export function start({ command }: Program, place: Place): Run {
  const args = [join(import.meta.dirname, 'measure.py'), usageFile(place), ...command];
  const child = spawn('python3', args, {
    env: environmentOf(place),
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return { ended: ended(child), kill: () => process.kill(-Number(child.pid), 'SIGKILL') };
}

/** What the last run used. */
export function usageOf(place: Place): Omit<Usage, 'requests'> {
  return JSON.parse(readFileSync(usageFile(place), 'utf8')) as Omit<Usage, 'requests'>;
}

const usageFile = ({ folder }: Place): string => join(folder, 'usage.json');
