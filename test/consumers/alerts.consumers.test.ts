import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fileWith, servedScene, startReceiver } from '../alerts/setup.ts';
import { freePort } from '../docs/run-blocks.ts';
import { folder } from '../export/setup.ts';
import { execute } from '../model/environment.ts';
import { noteEqual, runLines } from './consumer.ts';
import { ALERTMANAGER_PROGRAMS, ALERTMANAGER_VERSION } from './places.ts';

const ALERTMANAGER = join(ALERTMANAGER_PROGRAMS, 'alertmanager');

interface NotifiedAlert {
  readonly status: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Alertmanager, with a receiver of what it notifies. */
async function startAlertmanager() {
  const [cwd, receiver] = [folder(), await startReceiver()];
  const config = {
    route: { receiver: 'it', group_wait: '1s', group_interval: '1s' },
    receivers: [{ name: 'it', webhook_configs: [{ url: receiver.url }] }],
  };
  // JSON is YAML too.
  writeFileSync(join(cwd, 'alertmanager.yml'), JSON.stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const args = [
    '--config.file=alertmanager.yml',
    `--web.listen-address=${address}`,
    '--storage.path=a',
    '--cluster.listen-address=',
  ];
  const child = spawn(ALERTMANAGER, args, { cwd, stdio: 'ignore' });
  const ended = once(child, 'close');
  onTestFinished(() => {
    child.kill('SIGKILL');
    return ended.then(() => {});
  });
  const url = `http://${address}`;
  await expect
    .poll(() =>
      fetch(`${url}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    )
    .toBe(true);
  const notified = (): string[] =>
    receiver.posts.flatMap(({ body }) =>
      (JSON.parse(body).alerts as NotifiedAlert[]).map(({ status, labels }) => `${status} ${labels['subject']}`),
    );
  return { url, cwd, notified };
}

describe.runIf(existsSync(ALERTMANAGER))('the channel alertmanager', () => {
  test('Alertmanager keeps an alert open until its end, and notifies of both', async () => {
    const { url, cwd, notified } = await startAlertmanager();
    const channels = { it: { type: 'alertmanager', urlFile: fileWith(url) } };
    const { sync, env } = await servedScene({
      channels,
      rules: [{ name: 'failing', when: { kind: 'test' }, to: 'it' }],
    });
    await sync();
    execute(env, 't2', 't2-r2', { status: 'FAIL' });
    await sync();
    await expect.poll(notified).toContain('firing t2');
    const openAlerts = async () =>
      JSON.parse(await runLines(`amtool --alertmanager.url=${url} alert query -o json`, cwd, {}));
    const [alert] = await openAlerts();
    expect(alert).toMatchObject({ labels: { alertname: 'obsync_test', rule: 'failing' }, status: { state: 'active' } });
    expect(Date.parse(alert.endsAt) - Date.parse(alert.startsAt)).toBeGreaterThan(365 * 86_400_000);
    execute(env, 't2', 't2-r3', { status: 'PASS' });
    await sync();
    await expect.poll(notified).toContain('resolved t2');
    expect(await openAlerts()).toEqual([]);
    noteEqual({ tool: 'Alertmanager', version: ALERTMANAGER_VERSION, what: 'alerts of obsync' }, 2);
  });
});
