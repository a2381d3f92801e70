import { execFile } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { testFolder } from '../support/test-folder.ts';
import { ROOT } from './installed.ts';

const run = promisify(execFile);

interface PublishJob {
  readonly permissions: object;
  readonly steps: readonly { readonly name?: string; readonly run?: string }[];
}

const manifestIn = (cwd: string) => JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')) as { version: string };

describe('the release workflow', () => {
  const workflow = readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8');
  const { permissions, steps } = (parse(workflow) as { jobs: { publish: PublishJob } }).jobs.publish;

  /** Runs the named steps in a copy of the manifest, as a runner does for a tag. @returns the manifest afterwards */
  async function runNamedSteps(tag: string): Promise<object> {
    const cwd = testFolder();
    cpSync(join(ROOT, 'package.json'), join(cwd, 'package.json'));
    const runner = { GITHUB_REF_NAME: tag, GITHUB_SERVER_URL: 'https://git.example', GITHUB_REPOSITORY: 'team/obsync' };
    for (const { name, run: script = '' } of steps)
      if (name !== undefined) await run('bash', ['-e', '-c', script], { cwd, env: { ...process.env, ...runner } });
    return manifestIn(cwd);
  }

  test('publishes with provenance: the run may sign it, and the package names the repository', async () => {
    expect(permissions).toEqual({ contents: 'read', 'id-token': 'write' });
    expect(steps.at(-1)).toEqual({ run: 'npm publish' });
    const { version } = manifestIn(ROOT);
    expect(await runNamedSteps(`v${version}`)).toMatchObject({
      publishConfig: { provenance: true },
      repository: { type: 'git', url: 'git+https://git.example/team/obsync.git' },
    });
  });

  test('ends before it publishes if the tag is not the version', async () => {
    await expect(runNamedSteps('v99.0.0')).rejects.toMatchObject({ code: 1 });
  });
});
