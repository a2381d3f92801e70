#!/usr/bin/env node
import { outdatedNode } from '../settings/node-version.ts';

const outdated = outdatedNode();
if (outdated !== null) {
  process.stderr.write(`${outdated}\n`);
  process.exitCode = 2;
} else if (process.argv.length === 3 && ['--version', '-v'].includes(process.argv[2] ?? '')) {
  // Loaded only here, like the rest of the program: older versions of Node cannot even load it.
  const { version } = await import('../settings/version.ts');
  process.stdout.write(`${version()}\n`);
} else {
  const { main } = await import('./program.ts');
  process.exitCode = await main(process.argv.slice(2));
}
