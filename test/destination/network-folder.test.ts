import { describe, expect, test } from 'vitest';
import { networkFileSystem } from '../../src/destination/sqlite/network-folder.ts';

const FUSE = 0x65735546;

const MOUNTS = [
  '27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw',
  '31 27 0:40 / /home rw shared:2 master:1 - fuse.fuse-overlayfs overlay rw',
  '32 27 0:41 / /home/ann/team\\040files rw - fuse.sshfs files:/ rw',
  '33 27 0:42 / /mnt/lake rw - fuse.sshfs files:/ rw',
  '34 27 0:43 / /mnt/lake rw - fuse.ntfs-3g /dev/vdb rw',
].join('\n');

describe('the network file system of a folder', () => {
  test.each([
    ['nfs', 0x6969],
    ['smb', 0x517b],
    ['smb', 0xfe534d42],
    ['cifs', 0xff534d42],
    ['cifs', -11317950],
    ['9p', 0x01021997],
    ['afs', 0x5346414f],
    ['ceph', 0x00c36400],
    ['lustre', 0x0bd00bd0],
    [null, 0xef53],
    [null, 0x9123683e],
    [null, 0x794c7630],
    [null, 0x01021994],
  ])('it is %s for the type %i of Linux', (name, type) => {
    expect(networkFileSystem({ folder: '/data', type, mounts: '' })).toBe(name);
  });

  test.each([
    ['/home/ann/team files', 'sshfs'],
    ['/home/ann/team files/a/b', 'sshfs'],
    ['/home/ann/team files2', null],
    ['/home/ann', null],
    ['/mnt/lake', null],
    ['/srv', null],
  ])('for %s in a file system of a program, the deepest and last mount decides: %s', (folder, name) => {
    expect(networkFileSystem({ folder, type: FUSE, mounts: MOUNTS })).toBe(name);
  });

  test('it is none in a file system of a program if no mount is known', () => {
    expect(networkFileSystem({ folder: '/data', type: FUSE, mounts: '' })).toBeNull();
  });
});
