import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { filesUnder } from '../../src/export/export-files.ts';
import { folder } from '../cli/setup.ts';
import { archived, contentOf, filesOf } from './setup.ts';

describe('a mirror path with characters that are special in a URI or in Grafana', () => {
  /** A provisioning text as Grafana expands it, without environment variables. */
  const provisioned = (text: string) =>
    text
      .split('$$')
      .map((part) => part.replaceAll(/\$(\w+|\{[^}]*\})/g, ''))
      .join('$');

  const grafanaUri = (db: string) => {
    const [source] = contentOf(filesOf('grafana', { db }).get('provisioning/datasources/obsync.yaml')).datasources;
    const { pathPrefix, path, pathOptions } = source.jsonData;
    return `${pathPrefix}${provisioned(path)}?${pathOptions}`;
  };

  const supersetUri = (db: string) => {
    const database = archived('obsync-sqlite.zip', { db }).get('obsync/databases/obsync.yaml');
    return String(database.sqlalchemy_uri).replace(/^sqlite:\/\/\//, '');
  };

  test.each([
    ['Grafana', grafanaUri],
    ['Superset', supersetUri],
  ])('%s opens the right file', (_, uriOf) => {
    const within = folder();
    for (const name of ['my#m.db', 'a?b.db', '100%25.db', "it's a.db", 'a\\b.db', '$HOME $x.db', 'é:@&=;.db']) {
      const path = `${within}/${name}`;
      writeFileSync(path, '');
      const made = new DatabaseSync(path);
      made.exec('create table t as select 7 as seven');
      made.close();
      const opened = new DatabaseSync(new URL(uriOf(path)));
      expect([name, opened.prepare('select seven from t').get()]).toEqual([name, { seven: 7 }]);
      opened.close();
    }
    expect(filesUnder(within)).toHaveLength(7);
  });

  test('each $ is doubled for Grafana, also in the folder of the dashboards', () => {
    const files = filesOf('grafana', { db: '/d/$HOME.db', to: '/etc/$x/$$' });
    expect(contentOf(files.get('provisioning/datasources/obsync.yaml')).datasources[0].jsonData.path).toBe(
      '/d/$$HOME.db',
    );
    expect(contentOf(files.get('provisioning/dashboards/obsync.yaml')).providers[0].options.path).toBe(
      '/etc/$$x/$$$$/dashboards',
    );
  });
});
