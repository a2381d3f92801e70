import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { environments } from '../../schema/assets.ts';
import { mirror as mirrorTable } from '../../schema/sync.ts';
import { main } from '../../src/cli/program.ts';
import { textWidth } from '../../src/cli/text-width.ts';
import { removeEarlierDemo } from '../../src/demo/remove-earlier-demo.ts';
import { takeLock } from '../../state/lock.ts';
import { folder, inPlace, mirrorFile, obsync, refusal, start, testIo } from './setup.ts';

const mirrorOf = (baseUrl: string, envId: string) =>
  mirrorFile(({ db }) => {
    db.update(mirrorTable).set({ base_url: baseUrl }).run();
    db.insert(environments).values({ id: envId, name: 'Mine', mirrored_at: '2026-11-20T04:10:00.000000Z' }).run();
  });

describe('obsync demo', () => {
  test.each([
    ['of a service', 'https://api.example.com', 'prod-analytics'],
    ['of a service behind a tunnel', 'http://127.0.0.1:8080', 'e1'],
  ])('leaves a mirror %s unchanged, and exits 2', async (_, baseUrl, envId) => {
    const db = mirrorOf(baseUrl, envId);
    const before = statSync(db);
    const { code, stderr } = await obsync(['demo', '--db', db]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `obsync: ${db} mirrors ${baseUrl} and is not a demo: name another file with --db\n`,
    });
    expect(statSync(db)).toMatchObject({ ino: before.ino, size: before.size });
  });

  test.each(['without tables', 'that mirrors nothing'])(
    'replaces a file %s, as a demo that was killed leaves it',
    (what) => {
      const db =
        what === 'without tables'
          ? join(folder(), 'm.db')
          : mirrorFile(({ connection }) => connection.exec('delete from mirror'));
      if (what === 'without tables') new Database(db).pragma('journal_mode = WAL');
      removeEarlierDemo(db);
      expect(existsSync(db)).toBe(false);
    },
  );

  test('says why it cannot write its mirror before it makes the sample', async () => {
    expect(await obsync(['demo', '--db', 'no/such.db'])).toEqual(
      refusal(/^obsync: no does not exist: make the folder/),
    );
    const { code, stdout, stderr } = await obsync(['demo', '--db', '/proc/demo.db']);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(/^obsync: \/proc\/demo\.db.* cannot be .*\n$/),
    });
    expect(stdout).toBe('');
  });

  test('replaces the mirror of an older demo by one with two weeks of runs, and resolved and open incidents', async () => {
    const db = mirrorOf('http://127.0.0.1:8080', 'prod-analytics');
    const earlier = new Database(db);
    earlier.exec('update __drizzle_migrations set created_at = created_at - 1');
    earlier.close();
    expect(await obsync(['demo', '--db', db])).toMatchObject({ code: 0 });
    const asked = `select count(distinct day) > 13 as trend, (select count(resolved_at) from test_incidents) > 0 as resolved,
      (select count(*) - count(resolved_at) from test_incidents) > 0 as unresolved from test_runs_daily`;
    const { stdout } = await obsync(['query', '--db', db, '--format', 'json', asked]);
    expect(JSON.parse(stdout)).toEqual([{ trend: 1, resolved: 1, unresolved: 1 }]);
  });

  test('on a terminal of 80 columns no line of it is longer, and it limits its heap before it makes the sample', async () => {
    const io = testIo({});
    const stdout = Object.assign(io.stdout, { isTTY: true, columns: 80 });
    let before = '';
    const limitHeap = (): void => {
      before = stdout.text;
    };
    const run = () => main(['demo'], { ...io, stdout, limitHeap });
    expect(await inPlace({ cwd: folder(), env: {} }, run)).toBe(0);
    expect(before).not.toContain('It is served');
    expect(stdout.text.split('\n').filter((line) => textWidth(line) > 80)).toEqual([]);
    // The words of the SQL are whole, too.
    expect(stdout.text.replaceAll(/\s+/g, ' ')).toContain('sum(run_count - other_count), 1) as pass_percent from');
  });

  test('suggests serving its mirror with a random token', async () => {
    const cwd = folder();
    const tokens = [];
    for (const name of ['a.db', 'b.db']) {
      const { stdout } = await obsync(['demo', '--db', name], { cwd });
      tokens.push(/export OBSYNC_SERVE_TOKEN=([0-9a-f]{32})\n {2}npx obsync serve/.exec(stdout)?.[1]);
    }
    expect(tokens).toEqual([expect.any(String), expect.any(String)]);
    expect(tokens[0]).not.toBe(tokens[1]);
  });

  test('with --keep it changes and syncs the source until a signal, and serves the mirror with its own token', async () => {
    const db = join(folder(), 'd.db');
    const demo = start(['demo', '--keep', '--db', db]);
    const [, url, token] = /(http:\/\/\S+)\/#token=(\S+)/.exec(await demo.printed(/#token=/)) ?? [];
    const newest = async (): Promise<unknown> => {
      const answer = await fetch(`${url}/public/beta/prod-analytics/assets?limit=1&synced_since=2026-01-01T00:00:00Z`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect(answer.status).toBe(200);
      return answer.headers.get('obsync-mirrored-at');
    };
    const before = await newest();
    await demo.printed(/#token=(?:[\s\S]*rows written){2}/);
    expect(await newest()).not.toBe(before);
    demo.kill('SIGTERM');
    expect(await demo.ended).toMatchObject({ code: 143 });
  });

  test('leaves a mirror that another program has open unchanged, and exits 4', async () => {
    const db = mirrorOf('http://127.0.0.1:8080', 'prod-analytics');
    const { ino } = statSync(db);
    const reader = new Database(db, { readonly: true });
    expect(reader.prepare('select id from environments').pluck().get()).toBe('prod-analytics');
    expect(await obsync(['demo', '--db', db])).toEqual({
      code: 4,
      stdout: '',
      stderr: expect.stringMatching(/^obsync: \S+ is open in another program, such as a running demo: stop it, .*\n$/),
    });
    reader.close();
    expect(statSync(db).ino).toBe(ino);
  });

  test('exits 4 while another demo is using the mirror', async () => {
    const db = mirrorOf('http://127.0.0.1:8080', 'prod-analytics');
    const lock = takeLock(db);
    expect(await obsync(['demo', '--db', db])).toMatchObject({ code: 4 });
    lock.release();
  });
});
