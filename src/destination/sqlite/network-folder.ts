import { existsSync, readFileSync, realpathSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';

/** What Linux says about a folder's file system. */
export interface FolderFacts {
  readonly folder: string;
  /** The type that `statfs` returns. */
  readonly type: number;
  /** The text of `/proc/self/mountinfo`. It names the file systems that programs provide, which share one type. */
  readonly mounts: string;
}

/** The name of the network file system that a folder is on; null if it is on a local or unknown one. */
export function networkFileSystem({ folder, type, mounts }: FolderFacts): string | null {
  // On a 32-bit system, the type may be negative.
  const unsigned = type >>> 0;
  if (unsigned !== FUSE) return NETWORK_TYPES.get(unsigned) ?? null;
  const name = mountedType(folder, mounts).replace(/^fuse\./, '');
  return NETWORK_PROGRAMS.has(name) ? name : null;
}

/** From Linux' `magic.h` and the file systems' own sources. */
const NETWORK_TYPES: ReadonlyMap<number, string> = new Map([
  [0x6969, 'nfs'],
  [0x517b, 'smb'],
  [0xff534d42, 'cifs'],
  [0xfe534d42, 'smb'],
  [0x01021997, '9p'],
  [0x00c36400, 'ceph'],
  [0x0bd00bd0, 'lustre'],
  [0x5346414f, 'afs'],
  [0x6b414653, 'afs'],
  [0x73757245, 'coda'],
  [0x47504653, 'gpfs'],
  [0x19830326, 'beegfs'],
  [0xaad7aaea, 'panfs'],
]);

const FUSE = 0x65735546;

/** Programs that provide a network file system. The layers of a container without privileges are FUSE, too. */
const NETWORK_PROGRAMS: ReadonlySet<string> = new Set([
  ...['sshfs', 'glusterfs', 'ceph', 'ceph-fuse', 'smbnetfs', 'curlftpfs', 'davfs', 'davfs2', 'rclone', 's3fs'],
  ...['gcsfuse', 'goofys', 'geesefs', 'mountpoint-s3', 'blobfuse', 'blobfuse2', 'juicefs', 'mfs', 'seaweedfs'],
]);

/** The type of the mount that contains a folder: the deepest one, and of several in one place the last. */
function mountedType(folder: string, mounts: string): string {
  let found = { point: '', type: '' };
  for (const line of mounts.split('\n')) {
    const [, escaped = '', type = ''] = /^\S+ \S+ \S+ \S+ (\S+) .*? - (\S+) /.exec(line) ?? [];
    const point = escaped.replaceAll(/\\(\d{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    const isAround = point === '/' || folder === point || folder.startsWith(`${point}/`);
    if (point !== '' && isAround && point.length >= found.point.length) found = { point, type };
  }
  return found.type;
}

/** The network file system that a mirror is on or would be; null on other systems than Linux, which don't say. */
export function networkFileSystemOf(path: string): string | null {
  if (process.platform !== 'linux') return null;
  try {
    // Beside the real file, as SQLite's own files are.
    const folder = existsSync(path) ? dirname(realpathSync(path)) : realpathSync(dirname(path));
    const { type } = statfsSync(folder);
    return networkFileSystem({ folder, type, mounts: readFileSync('/proc/self/mountinfo', 'utf8') });
  } catch {
    // A folder that is not there is refused for that.
    return null;
  }
}
