import Database from 'better-sqlite3';
import fastify from 'fastify';

/** The minimum cost of serving the same rows: a server of a few lines, without tokens, cursors or times. */
const [file = '', columns = 'id, asset_id, name, data_type, mirrored_at as synced_at'] = process.argv.slice(2);
const db = new Database(file, { readonly: true });
const live = `select ${columns} from columns where env_id = 'bench' and deleted_at is null`;
const page = db.prepare(`${live} and id > ? order by id limit ?`);
const one = db.prepare(`${live} and id = ?`);
const feed = db.prepare(`${live} and mirrored_at >= ? order by mirrored_at, id limit ?`);
const app = fastify();
app.get('/public/beta/bench/columns', async (request) => {
  const { cursor = '', limit = 500, synced_since } = request.query as Record<string, string>;
  const items = (synced_since === undefined ? page.all(cursor, limit) : feed.all(synced_since, limit)) as {
    id: string;
  }[];
  return { items, has_more: items.length === Number(limit), next_cursor: items.at(-1)?.id ?? null };
});
app.get('/public/beta/bench/columns/:id', async (request) => one.get((request.params as { id: string }).id));
console.log(await app.listen({ host: '127.0.0.1', port: 0 }));
