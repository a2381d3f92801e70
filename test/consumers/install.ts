import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { installRequirements, run, start } from './install-requirements.ts';
import {
  ALERTMANAGER_PROGRAMS,
  ALERTMANAGER_VERSION,
  DEBIAN,
  DEBIAN_PROGRAMS,
  DELTA_ARTIFACTS,
  GENERATOR_JAR,
  GENERATORS,
  GO_MODULES,
  GO_PROGRAMS,
  GO_PROJECT,
  JARS,
  JAVA_CLIENT,
  JDBC_VERSIONS,
  LITESTREAM_PROGRAMS,
  LITESTREAM_VERSION,
  NPM_PROJECT,
  SUPERSET,
  SUPERSET_VENV,
  VENV,
  VERSITYGW_PROGRAMS,
  VERSITYGW_VERSION,
} from './places.ts';

/*
 * Installs the programs that `npm run test:consumers` reads a mirror with. Ends with 1 if they can't be installed here.
 */

const [REQUIREMENTS, CONSTRAINTS] = ['requirements', 'constraints'].map((name) =>
  join(import.meta.dirname, `${name}.txt`),
) as [string, string];

const ALERTMANAGER_MODULES = ['alertmanager', 'amtool'].map(
  (name) => `github.com/prometheus/alertmanager/cmd/${name}@v${ALERTMANAGER_VERSION}`,
);

if (!installRequirements(VENV, ['-r', REQUIREMENTS, '-c', CONSTRAINTS])) {
  console.error(`test:consumers needs python3 and PyPI: installing ${REQUIREMENTS} failed`);
  process.exit(1);
}

const superset = join(import.meta.dirname, 'superset.txt');
if (!existsSync(SUPERSET) && !installRequirements(SUPERSET_VENV, ['-r', superset])) leaveOut('Superset', 'PyPI');

const java = Number(/"(\d+)/.exec(start('java', ['-version']).stderr ?? '')?.[1] ?? 0);
const jdbc = JDBC_VERSIONS.map((version) => [`org.xerial:sqlite-jdbc:${version}`, 11] as const);
const delta = DELTA_ARTIFACTS.map((artifact) => [artifact, 17] as const);
for (const [artifact, needed] of [...jdbc, ...delta])
  if (java < needed || !copyJar(artifact)) leaveOut(artifact, `JDK ${needed}, Maven and Maven Central`);
const generator = `org.openapitools:openapi-generator-cli:${GENERATORS['openapi-generator']}`;
if (java < 11 || !copyJar(generator) || !buildJavaClient()) leaveOut(generator, 'JDK 11, Maven and Maven Central');
if (!installOapiCodegen()) leaveOut('oapi-codegen', 'Go and its module proxy');
if (!installOpenapiTypescript()) leaveOut('openapi-typescript', 'npm');
if (!run('kubectl', ['version', '--client'])) leaveOut('examples/kubernetes', 'kubectl');
if (!existsSync(DEBIAN_PROGRAMS) && !unpackPrometheus()) leaveOut('Prometheus', 'Debian and its packages');
for (const [name, programs, modules] of [
  ['Alertmanager', ALERTMANAGER_PROGRAMS, ALERTMANAGER_MODULES],
  ['Litestream', LITESTREAM_PROGRAMS, [`github.com/benbjohnson/litestream/cmd/litestream@v${LITESTREAM_VERSION}`]],
  ['versitygw', VERSITYGW_PROGRAMS, [`github.com/versity/versitygw/cmd/versitygw@v${VERSITYGW_VERSION}`]],
] as const)
  if (!existsSync(programs) && !installGoPrograms(programs, modules)) leaveOut(name, 'Go and its module proxy');

function copyJar(artifact: string): boolean {
  const args = ['--quiet', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${JARS}`];
  return run('mvn', args);
}

/** Maven downloads what it builds with on its first build. */
function buildJavaClient(): boolean {
  if (existsSync(join(JAVA_CLIENT, 'target/dependency'))) return true;
  const description = join(emptied(JAVA_CLIENT), 'openapi.json');
  writeFileSync(description, JSON.stringify({ openapi: '3.1.0', info: { title: 'none', version: '1' }, paths: {} }));
  const generate = ['generate', '-g', 'java', '--library', 'native', '-i', description, '-o', JAVA_CLIENT];
  const build = ['--quiet', '-f', JAVA_CLIENT, 'compile', 'dependency:copy-dependencies'];
  return run('java', ['-jar', GENERATOR_JAR, ...generate]) && run('mvn', build);
}

function installOapiCodegen(): boolean {
  const module = 'github.com/oapi-codegen';
  // Go makes its modules read-only otherwise, so deleting the folder fails.
  const env = { ...process.env, GOBIN: GO_PROGRAMS, GOMODCACHE: GO_MODULES, GOFLAGS: '-modcacherw' };
  const where = { cwd: emptied(GO_PROJECT), env };
  const program = `${module}/oapi-codegen/v2/cmd/oapi-codegen@v${GENERATORS['oapi-codegen']}`;
  return (
    run('go', ['install', program], where) &&
    run('go', ['mod', 'init', 'example'], where) &&
    run('go', ['get', `${module}/runtime@v${GENERATORS['oapi-codegen/runtime']}`], where)
  );
}

function installOpenapiTypescript(): boolean {
  const packages = ['openapi-typescript', 'openapi-fetch', 'typescript'] as const;
  const pinned = packages.map((name) => `${name}@${GENERATORS[name]}`);
  const quiet = ['--no-audit', '--no-fund', '--ignore-scripts'];
  mkdirSync(NPM_PROJECT, { recursive: true });
  return run('npm', ['install', '--prefix', NPM_PROJECT, ...quiet, ...pinned], { cwd: NPM_PROJECT });
}

/** Unpacks Debian's package without installing it. */
function unpackPrometheus(): boolean {
  const cwd = emptied(DEBIAN);
  const download = (): boolean => run('apt-get', ['download', 'prometheus'], { cwd });
  // A new machine has no list of the packages.
  if (!download() && !(run('apt-get', ['update']) && download())) return false;
  const packages = readdirSync(cwd).filter((name) => name.endsWith('.deb'));
  return packages.every((name) => run('dpkg', ['-x', name, '.'], { cwd }));
}

/** Takes some minutes and a lot of modules, which only the build needs. */
function installGoPrograms(folder: string, programs: readonly string[]): boolean {
  const modules = mkdtempSync(join(tmpdir(), 'obsync-go-'));
  const env = { ...process.env, GOBIN: folder, GOMODCACHE: modules, GOFLAGS: '-modcacherw' };
  const isInstalled = run('go', ['install', ...programs], { env });
  rmSync(modules, { recursive: true });
  return isInstalled;
}

function emptied(path: string): string {
  rmSync(path, { recursive: true, force: true });
  mkdirSync(path, { recursive: true });
  return path;
}

function leaveOut(program: string, needs: string): void {
  console.error(`test:consumers leaves out ${program}, which needs ${needs}`);
}
