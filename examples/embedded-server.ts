/**
 * Serves a mirror from within a Fastify of your own, beside its other routes:
 * `OBSYNC_SERVE_TOKEN=… node embedded-server.ts mirror.db 8080`
 */
import fastify from 'fastify';
import { mirrorApi, openMirror } from 'obsync';

const [, , db = 'obsync.db', port = '8080'] = process.argv;

const app = fastify();
const mirror = await openMirror({ db });

/** A route of your own, answered from the mirror by SQL. */
app.get('/failing-tests', () => [...mirror.query('select asset_name, test_name, status from failing_tests')]);

/** The read API, with its own tokens, at `/mirror/public/beta/…`. */
await app.register(mirrorApi, { prefix: '/mirror', db });

app.addHook('onClose', () => mirror.close());
console.log(await app.listen({ port: Number(port) }));

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close());
