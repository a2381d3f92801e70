import { isIPv6 } from 'node:net';

/**
 * The network of a client's address. For IPv6 it is the first 64 bits, because one machine may own all addresses below
 * them. An IPv4-mapped IPv6 address counts as that IPv4 address. Expects addresses as Node formats them.
 */
export function networkOf(address: string): string {
  const [, mapped] = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address) ?? [];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = tail === undefined ? 0 : 8 - head.length - tail.length;
  return `${[...head, ...Array<string>(zeros).fill('0'), ...(tail ?? [])].slice(0, 4).join(':')}::/64`;
}
