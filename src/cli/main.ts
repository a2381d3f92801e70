#!/usr/bin/env node
const OLDEST = [22, 20] as const;

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
  process.stderr.write(
    `obsync needs Node ${OLDEST.join('.')} or later, but this is Node ${process.versions.node}: update Node\n`,
  );
  process.exitCode = 2;
} else if (process.argv.length === 3 && ['--version', '-v'].includes(process.argv[2] ?? '')) {
  // Loaded only here, like the rest of the program: older versions of Node cannot even load it.
  const { version } = await import('./version.ts');
  process.stdout.write(`${version()}\n`);
} else {
  const { main } = await import('./program.ts');
  process.exitCode = await main(process.argv.slice(2));
}
