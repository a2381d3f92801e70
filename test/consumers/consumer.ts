import { execFile } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject } from 'vitest';
import { NODE } from '../cli/setup.ts';
import { folder } from '../export/setup.ts';
import { ALERTMANAGER_PROGRAMS, DEBIAN_PROGRAMS, GO_PROGRAMS, SUPERSET_VENV, VENV } from './places.ts';

/** What one tool read of one thing, and how what it read differs from the mirror. */
export interface Comparison {
  readonly tool: string;
  readonly version: string;
  readonly what: string;
  readonly equal: number;
  readonly of: number;
  readonly rows: number;
  readonly differing: Readonly<Record<string, string>>;
}

/** Adds a line to the table that is printed after all tests, for a tool that found no difference. */
export function noteEqual({ tool, version, what }: Pick<Comparison, 'tool' | 'version' | 'what'>, count: number): void {
  const comparison: Comparison = { tool, version, what, equal: count, of: count, rows: 0, differing: {} };
  appendFileSync(inject('comparisons'), `${JSON.stringify(comparison)}\n`);
}

/** Runs a script of this folder, and expects that it read what the mirror has. */
export async function expectReads(script: string, ...args: readonly string[]): Promise<void> {
  const stdout = await runPython([join(import.meta.dirname, script), ...args]);
  appendFileSync(inject('comparisons'), stdout);
  const read = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Comparison);
  expect(read.flatMap(differencesOf)).toEqual([]);
}

const SHOWN = 5;

function differencesOf({ tool, what, differing }: Comparison): string[] {
  const lines = Object.entries(differing).map(([name, how]) => `${tool}, ${what}, ${name}: ${how}`);
  const more = lines.length - SHOWN;
  return [...lines.slice(0, SHOWN), ...(more > 0 ? [`${tool}, ${what}: and ${more} more`] : [])];
}

/** Runs lines of shell, which find the installed tools. @returns what they print */
export function runLines(lines: string, cwd: string, env: Readonly<Record<string, string>>): Promise<string> {
  return runTool('bash', ['-euo', 'pipefail', '-c', lines], cwd, env);
}

/** Runs the Python that the tools were installed for. @returns what it prints */
export function runPython(args: readonly string[], cwd = folder()): Promise<string> {
  return runTool(join(VENV, 'bin/python'), args, cwd, {});
}

/** Runs a script of this folder with the Python of Superset. @returns what it prints */
export function runSuperset([script, ...args]: readonly [string, ...string[]]): Promise<string> {
  const programs = join(SUPERSET_VENV, 'bin');
  const env = { PATH: `${programs}:${process.env['PATH']}` };
  return runTool(join(programs, 'python'), [join(import.meta.dirname, script), ...args], folder(), env);
}

async function runTool(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const { stdout } = await promisify(execFile)(command, args, {
    cwd,
    env: { ...process.env, ...QUIET, PATH: PROGRAMS, ...env },
    maxBuffer: 2 ** 26,
  });
  return stdout;
}

const INSTALLED = [join(VENV, 'bin'), GO_PROGRAMS, DEBIAN_PROGRAMS, ALERTMANAGER_PROGRAMS];
const PROGRAMS = [dirname(NODE), ...INSTALLED, process.env['PATH']].join(':');

/** Python writes no bytecode beside the scripts, and dbt sends no telemetry. */
const QUIET = { PYTHONDONTWRITEBYTECODE: '1', DO_NOT_TRACK: '1' };
