import { openStore } from '../../src/api/open-store.ts';

// Runs as its own process: holds environments of a mirror until it is killed.
const [db = '', ...envIds] = process.argv.slice(2);
const mirror = await (await openStore(db)).open(new AbortController().signal);
await mirror.hold(envIds);
process.stdout.write('held\n');
