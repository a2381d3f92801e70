import { cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { blocksUnder, readDocument } from '../docs/documents.ts';
import { CONSUMERS, SERVED } from '../docs/run-blocks.ts';
import { folder } from '../export/setup.ts';
import { runLines } from './consumer.ts';
import { GENERATOR_JAR, GENERATORS, GO_MODULES, GO_PROGRAMS, JAVA_CLIENT, NPM_PROJECT } from './places.ts';

/** A generator of clients that docs/serve.md shows. */
export interface ClientGenerator {
  /** The title of its section. */
  readonly title: string;
  /** Empty if Python's registry knows it. */
  readonly version: string;
  /** What is there if it could be installed. */
  readonly installed?: string;
  /** The program that prints all lists, of `clients/`, where it belongs in the folder of the documented program. */
  readonly program: string;
  readonly belongs: string;
  readonly run: string;
}

const JAVA = "java -cp 'mirror/target/classes:mirror/target/dependency/*'";
const TSC = [
  'npx tsc --noEmit --strict --noUncheckedIndexedAccess --module esnext --moduleResolution bundler --target es2024',
  `--allowImportingTsExtensions --typeRoots ${join(import.meta.dirname, '../../node_modules/@types')} --types node`,
].join(' ');

export const CLIENT_GENERATORS: readonly ClientGenerator[] = [
  {
    title: 'openapi-python-client',
    version: '',
    program: 'lists.py',
    belongs: 'lists.py',
    run: 'python lists.py',
  },
  {
    title: 'openapi-typescript',
    version: GENERATORS['openapi-typescript'],
    installed: join(NPM_PROJECT, 'node_modules'),
    program: 'lists.ts',
    belongs: 'lists.ts',
    run: `${TSC} assets.ts lists.ts && node lists.ts`,
  },
  {
    title: 'oapi-codegen',
    version: GENERATORS['oapi-codegen'],
    installed: join(GO_PROGRAMS, 'oapi-codegen'),
    program: 'oapi-codegen/main.go',
    belongs: 'lists/main.go',
    run: 'go run ./lists',
  },
  {
    title: 'openapi-generator for Go',
    version: GENERATORS['openapi-generator'],
    installed: GENERATOR_JAR,
    program: 'openapi-generator/main.go',
    belongs: 'lists/main.go',
    run: 'go run ./lists',
  },
  {
    title: 'openapi-generator for Java',
    version: GENERATORS['openapi-generator'],
    installed: join(JAVA_CLIENT, 'target/dependency'),
    program: 'openapi-generator/Lists.java',
    belongs: 'Lists.java',
    run: `${JAVA} Lists.java`,
  },
];

export const isInstalled = ({ installed }: ClientGenerator): boolean =>
  installed === undefined || existsSync(installed);

/** A served mirror. */
export interface Served {
  readonly url: string;
  readonly token: string;
  /** The environment that the documented programs read. */
  readonly environment: string;
}

/** What a client printed. */
interface ClientRun {
  /** The names that the documented program lists. */
  readonly names: readonly string[];
  /** The path of what the program that reads all lists printed. */
  readonly items: string;
  readonly description: string;
}

/** Generates and runs a client with the lines of docs/serve.md, then reads all lists with it. */
export async function runClient(generator: ClientGenerator, served: Served): Promise<ClientRun> {
  const { cwd, description, env, lines } = await documentedLines(generator.title, served);
  const last = lines.pop() ?? '';
  await runLines(lines.join('\n'), cwd, env);
  const printed = await runLines(last, cwd, env);
  const program = join(cwd, generator.belongs);
  mkdirSync(dirname(program), { recursive: true });
  cpSync(join(import.meta.dirname, 'clients', generator.program), program);
  const items = join(cwd, 'items.jsonl');
  writeFileSync(items, await runLines(generator.run, cwd, env));
  return { names: printed.trimEnd().split('\n'), items, description };
}

/** A folder with the files of a section of docs/serve.md, the description and the tools, and the section's lines. */
export async function documentedLines(title: string, served: Served) {
  const cwd = folder();
  const description = join(cwd, 'openapi.json');
  writeFileSync(description, await (await fetch(`${served.url}/openapi.json`)).text());
  const env = { ...provideTools(cwd), URL: served.url, OBSYNC_SERVE_TOKEN: served.token };
  return { cwd, description, env, lines: writeDocumented(cwd, title, served) };
}

/** Writes the files of a section of docs/serve.md, which are named in their first line. @returns its shell lines */
function writeDocumented(cwd: string, title: string, { url, environment }: Served): string[] {
  const { text } = readDocument('docs/serve.md');
  const adapted = text.replaceAll(SERVED, new URL(url).host).replaceAll('prod-analytics', environment);
  const blocks = blocksUnder({ text: adapted }, title);
  for (const block of blocks) {
    const [, name] = /^(?:\/\/|#) (\S+)\n/.exec(block.text) ?? [];
    if (name !== undefined) writeFileSync(join(cwd, name), block.text);
  }
  return blocks.filter(({ language }) => language === CONSUMERS).flatMap((block) => block.text.trimEnd().split('\n'));
}

/** Puts the tools where the documented lines expect them, and keeps these from the network. @returns the variables */
function provideTools(cwd: string): Readonly<Record<string, string>> {
  symlinkSync(join(NPM_PROJECT, 'node_modules'), join(cwd, 'node_modules'));
  symlinkSync(GENERATOR_JAR, join(cwd, 'openapi-generator-cli.jar'));
  mkdirSync(join(cwd, '.mvn'));
  writeFileSync(join(cwd, '.mvn/maven.config'), '--offline');
  return {
    npm_config_offline: 'true',
    npm_config_update_notifier: 'false',
    GOMODCACHE: GO_MODULES,
    GOPROXY: `file://${join(GO_MODULES, 'cache/download')}`,
    GOSUMDB: 'off',
    GOFLAGS: '-modcacherw',
    GOTOOLCHAIN: 'local',
  };
}
