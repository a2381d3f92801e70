import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { JARS, JDBC_VERSIONS, VENV } from './places.ts';

/*
 * Installs the programs that `npm run test:consumers` reads a mirror with. Ends with 1 if they can't be installed here.
 */

const [REQUIREMENTS, CONSTRAINTS] = ['requirements', 'constraints'].map((name) =>
  join(import.meta.dirname, `${name}.txt`),
) as [string, string];
const PIP = ['install', '--quiet', '--disable-pip-version-check', '-r', REQUIREMENTS, '-c', CONSTRAINTS];

/** A registry may accept a connection and never answer. */
const TIMEOUT_MS = 900_000;

for (const [command, args] of [
  ['python3', ['-m', 'venv', VENV]],
  [join(VENV, 'bin/pip'), PIP],
] as const)
  if (!run(command, args)) {
    console.error(`test:consumers needs python3 and PyPI: \`${command} ${args.join(' ')}\` failed`);
    process.exit(1);
  }

for (const version of JDBC_VERSIONS) {
  const artifact = `org.xerial:sqlite-jdbc:${version}`;
  if (
    !run('java', ['-version']) ||
    !run('mvn', ['--quiet', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${JARS}`])
  )
    console.error(`test:consumers leaves out ${artifact}, which needs a JDK, Maven and Maven Central`);
}

function run(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore', timeout: TIMEOUT_MS }).status === 0;
}
