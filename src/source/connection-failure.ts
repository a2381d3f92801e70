import { errorCode, errorMessage } from '../core/errors.ts';

/** The other end of a connection, as messages name it. */
export interface RemoteHost {
  /** The service's host and port. */
  readonly host: string;
  /** The proxy that is set for it, whether or not `NO_PROXY` lists the service; null if there is none. */
  readonly proxy: string | null;
}

/** `api.example.com`, with its proxy if one is set. */
export function remoteName({ host, proxy }: RemoteHost): string {
  return proxy === null ? host : `${host} (proxy: ${proxy})`;
}

/** Explains a failed connection by the code of Node or undici. The advice is null if another try may help. */
export function connectionFailure(
  cause: unknown,
  remote: RemoteHost,
): { readonly text: string; readonly advice: string | null } {
  const { host, proxy } = remote;
  const code = errorCode(cause);
  // The proxy was reached but did not connect. Its status is only in undici's message.
  if (proxy !== null && REFUSED_BY_PROXY.has(code))
    return { text: `the proxy ${proxy} did not connect to ${host}: ${errorMessage(cause)}`, advice: null };
  // A failed look-up names the host that was looked up: the service or the proxy.
  const sought = cause instanceof Error && 'hostname' in cause ? cause.hostname : null;
  const isProxy = proxy !== null && new URL(`http://${proxy}`).hostname === sought;
  const [what, advice] = explanation(code, isProxy ? proxy : null) ?? ['the connection to HOST failed', null];
  const text = what.replace('HOST', remoteName(remote));
  return { text: code === '' ? text : `${text} (${code})`, advice };
}

/** `proxy` is the proxy whose address was looked up; null if it was that of the service. */
function explanation(code: string, proxy: string | null): readonly [text: string, advice: string] | null {
  if (code === 'ENOTFOUND' && proxy !== null)
    return [`the address of the proxy ${proxy} cannot be found`, 'Check HTTPS_PROXY or HTTP_PROXY.'];
  if (code === 'ENOTFOUND')
    return ['the address of HOST cannot be found', 'Check the base URL and whether HTTPS_PROXY has to name a proxy.'];
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return ['the certificate of HOST is for another host', 'Check the base URL.'];
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return ['the certificate of HOST is not valid now', 'Renew it, or correct the clock of this machine.'];
  if (UNTRUSTED.has(code))
    return [
      'the certificate of HOST is not trusted',
      'If a private authority issued it, name the file of its certificate with --ca-file.',
    ];
  if (NOT_TLS.has(code)) return ['HOST does not speak TLS', 'Check whether the base URL is http, and its port.'];
  return null;
}

/** OpenSSL's names for a chain that ends in no trusted certificate. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
]);

const NOT_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'EPROTO']);

/** undici's codes for a proxy that answers CONNECT, or a request over http, with something else than success. */
const REFUSED_BY_PROXY = new Set(['UND_ERR_ABORTED', 'UND_ERR_INVALID_ARG']);
