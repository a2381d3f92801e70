import { homedir } from 'node:os';

/** The user's home folder, where PostgreSQL's own programs look for their files. */
export function homeFolder(env: NodeJS.ProcessEnv): string {
  return env['HOME'] || homedir();
}
