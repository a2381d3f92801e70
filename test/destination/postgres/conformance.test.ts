import { describeDestination } from '../../support/conformance.ts';
import { emptyMirror, mirrorIn } from '../../support/pglite-conformance.ts';
import { pgliteMirror } from './setup.ts';

const SCHEMA = 'mirror';

const server = await pgliteMirror(SCHEMA);

describeDestination('PostgreSQL', async (clock) => {
  await emptyMirror(server, SCHEMA);
  return mirrorIn(server, SCHEMA, { clock, close: async () => {} });
});
