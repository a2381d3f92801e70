import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { TestProject, Vite } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the compiled program, which also holds the compiled programs of the tests. */
    compiled: string;
  }
}

/** Programs that tests start beside the real one. */
const PROGRAMS = ['hold-process', 'quota-process'];

/** Compiles what tests start: it starts in a sixth of the time, and is what users run. */
export default async function compile(project: TestProject): Promise<() => void> {
  const { root } = project.config;
  const folder = mkdtempSync(join(root, '.compiled-'));
  const remove = (): void => rmSync(folder, { recursive: true });
  try {
    await buildInto(folder, root);
  } catch (error) {
    remove();
    throw error;
  }
  project.onTestsRerun(() => buildInto(folder, root));
  process.env[THREADS_BASE] = String(pathToFileURL(join(folder, 'main.js')));
  project.provide('compiled', folder);
  return remove;
}

async function buildInto(folder: string, root: string): Promise<void> {
  execFileSync(process.execPath, ['esbuild.config.ts', folder], { cwd: root });
  await build({
    entryPoints: PROGRAMS.map((name) => join(import.meta.dirname, `${name}.ts`)),
    outdir: folder,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
  });
}

/** An environment variable, because Vite caches transformed code across runs. */
const THREADS_BASE = 'TEST_THREADS_BASE';

/** Lets the code under test start its threads from the compiled program. */
export const compiledThreads: Vite.Plugin = {
  name: 'compiled-threads',
  enforce: 'pre',
  transform(code, id) {
    if (!/[/\\]src[/\\].*[/\\](read-threads|in-thread)\.ts$/.test(id)) return undefined;
    const [, thread] = /const THREAD = [^;]+('\.\/\w+-thread\.js');/.exec(code) ?? [];
    if (thread === undefined) throw new Error(`${id} has no constant THREAD`);
    return code.replace(/const THREAD = [^;]+;/, `const THREAD = new URL(${thread}, process.env.${THREADS_BASE});`);
  },
};
