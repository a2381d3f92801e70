import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { SERVE_TOKEN, type Serving, serving } from '../cli/serving.ts';
import { changeMirror, makeAwkwardMirror, writeExpected } from './awkward-mirror.ts';
import { expectReads } from './consumer.ts';

describe('the API of obsync serve', () => {
  let server: Serving;
  let expected = '';

  beforeAll(async () => {
    const mirror = makeAwkwardMirror();
    changeMirror(mirror);
    expected = writeExpected(mirror);
    mirror.connection.close();
    server = await serving(['--db', mirror.path, '--rate-limit', 'off'], { whenDone: () => {} });
  });
  afterAll(async () => {
    server.kill('SIGKILL');
    await server.ended;
  });

  test('the client of openapi-python-client reads the lists and each asset of the mirror', async () => {
    await expectReads('served_api.py', expected, server.url, SERVE_TOKEN, 'openapi_python_client');
  });

  test('schemathesis finds no answer that breaks the description', async () => {
    await expectReads('served_api.py', expected, server.url, SERVE_TOKEN, 'schemathesis');
  });

  // It comes with Prometheus, which no registry of Python or Java has.
  if (spawnSync('promtool', ['--version']).status === 0)
    test('promtool finds nothing to criticize in the metrics', async () => {
      await expectReads('served_api.py', expected, server.url, SERVE_TOKEN, 'promtool');
    });
});
