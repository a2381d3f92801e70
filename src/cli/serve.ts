import type { Command } from './command.ts';
import { pick } from './options.ts';

export const serve: Command = {
  name: 'serve',
  describe: 'serve the mirror as the read API it was made from, to OBSYNC_SERVE_TOKEN and those of --tokens',
  options: pick('db', 'host', 'port', 'tokens', 'rate-limit', 'dimension-weights', 'log-level', 'config'),
  async run(args, io) {
    // Not before it is needed: a server takes a while to load, and no other command has to wait for it.
    const { serveMirror } = await import('./serve-mirror.ts');
    return serveMirror(args, io);
  },
};
