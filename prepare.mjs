/* Compiles the program after `npm ci` in a clone. Without development packages, the clone runs a compiled `dist`. */
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';

if (existsSync(new URL('node_modules/esbuild', import.meta.url))) execSync('npm run --silent build', { stdio: 'inherit' });
else if (!existsSync(new URL('dist/main.js', import.meta.url)))
  console.error('obsync is not compiled, because the development packages are left out: run `npm ci`, or copy `dist`.');
