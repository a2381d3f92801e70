import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SERVE_TOKEN, type Serving, serving } from '../cli/serving.ts';
import { changeMirror, makeAwkwardMirror, writeExpected } from './awkward-mirror.ts';
import { expectReads, noteEqual, runLines } from './consumer.ts';
import { CLIENT_GENERATORS, documentedLines, isInstalled, runClient, type Served } from './generated-clients.ts';

const ENVIRONMENT = 'prod.eu';

describe('the API of obsync serve', () => {
  let server: Serving;
  let served: Served;
  let expected = '';
  let names: unknown[] = [];

  beforeAll(async () => {
    const mirror = makeAwkwardMirror();
    changeMirror(mirror);
    expected = writeExpected(mirror);
    names = mirror.connection
      .prepare('select name from assets where env_id = ? and deleted_at is null order by id')
      .pluck()
      .all(ENVIRONMENT);
    mirror.connection.close();
    server = await serving(['--db', mirror.path, '--rate-limit', 'off'], { whenDone: () => {} });
    served = { url: server.url, token: SERVE_TOKEN, environment: ENVIRONMENT };
  });
  afterAll(async () => {
    server.kill('SIGKILL');
    await server.ended;
  });

  // A machine without a JDK, Go or npm leaves some out; the installation says so.
  test.each(CLIENT_GENERATORS.filter(isInstalled))(
    'the client of $title reads every list of the mirror, and the program of docs/serve.md the assets',
    async (generator) => {
      const read = await runClient(generator, served);
      expect(read.names).toEqual(names);
      await expectReads('served_api.py', expected, read.description, generator.title, generator.version, read.items);
    },
  );

  test('schemathesis finds no answer that breaks the description, with all its checks and a random seed', async () => {
    const { cwd, env, lines } = await documentedLines('schemathesis', served);
    // With ids of the mirror, answers other than 404 come back.
    const parameters = `"path.env_id" = "${ENVIRONMENT}"\n"path.asset_id" = "model.shop.table_0002"\n`;
    writeFileSync(join(cwd, 'schemathesis.toml'), `[parameters]\n${parameters}`);
    const checks = { SCHEMATHESIS_HOOKS: 'schemathesis_checks', PYTHONPATH: import.meta.dirname };
    const seed = process.env['OBSYNC_SEED'] ?? randomInt(2 ** 32);
    const options = ` --max-examples 10 --seed ${seed} --no-color`;
    const printed = await runLines(lines.join('\n') + options, cwd, { ...env, ...checks });
    const [, cases] = /(\d+) generated/.exec(printed) ?? [];
    const [, version = ''] = /Schemathesis v(\S+)/.exec(printed) ?? [];
    const what = `API of serve, ${cases} requests, seed ${seed}`;
    noteEqual({ tool: 'schemathesis', version, what }, 1);
    expect(Number(cases)).toBeGreaterThan(500);
  });
});
