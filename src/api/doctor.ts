import { addressOf, givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { OPTIONS } from '../settings/option-table.ts';
import type { OptionsNamed, ServiceOptions } from '../settings/options.ts';
import { syncSettings } from '../settings/sync-settings.ts';
import { readToken } from '../settings/token.ts';
import { LOCAL_CHECKS, type LocalFacts } from './doctor/local-checks.ts';
import { attempt, findLocalFacts, type GivenSettings } from './doctor/local-facts.ts';
import { SERVICE_CHECKS, type ServiceFacts } from './doctor/service-checks.ts';
import { askService } from './doctor/service-facts.ts';
import type { CheckVerdict, DoctorCheck } from './doctor/verdict.ts';
import { openStore } from './open-store.ts';
import { openSource, resumeSource } from './session.ts';

export interface DoctorOptions
  extends Pick<ServiceOptions, 'token' | 'tokenFrom' | 'shareQuota' | 'signal'>,
    OptionsNamed<'baseUrl' | 'db' | 'dbFile' | 'tokenFile' | 'env' | 'timeout'>,
    OptionsNamed<'allowHttp' | 'caFile' | 'allowNetworkFs'> {
  /** Receives each check when it is done; those that need no network come first. */
  readonly onProgress?: ((event: DoctorEvent) => void) | undefined;
}

export interface CheckReport extends CheckVerdict {
  /** Its name, such as `token`. */
  readonly check: string;
}

export type DoctorEvent = { readonly type: 'check' } & CheckReport;

export interface DoctorReport {
  /** The mirror; an address in PostgreSQL without its password. */
  readonly db: string;
  /** The worst that a check found; `refused` if the service refused the token. */
  readonly status: 'ok' | 'warning' | 'problem' | 'refused';
  /** Requests sent to the service. */
  readonly requests: number;
  readonly checks: readonly CheckReport[];
}

/**
 * Checks what a sync needs: the token, the service, the place of the mirror. Sends at most four requests, and writes
 * nothing but what they say about the quota (R23).
 * @throws OptionError
 */
export async function doctor(options: DoctorOptions = {}): Promise<DoctorReport> {
  checkOptions(options);
  const checks: CheckReport[] = [];
  const check = <Facts>(all: readonly DoctorCheck<Facts>[], facts: Facts): void => {
    for (const { name, verdict } of all) {
      const found = verdict(facts);
      if (found === null) continue;
      checks.push({ check: name, ...found });
      options.onProgress?.({ type: 'check', check: name, ...found });
    }
  };
  const given = await givenSettings(options);
  const local = await findLocalFacts(given);
  check(LOCAL_CHECKS, local);
  const { facts, requests } = await ask(given, local, options);
  check(SERVICE_CHECKS, facts);
  return { db: given.store.display, status: statusOf(checks, facts), requests, checks };
}

async function givenSettings(options: DoctorOptions): Promise<GivenSettings> {
  const { onProgress: _, baseUrl, tokenFile, ...rest } = options;
  const db = givenAddress(options);
  const token = await attempt(() => readToken(options));
  // The token is judged by itself, and the other options even without a base URL.
  const settingsFor = (url: string) => attempt(() => syncSettings({ ...rest, baseUrl: url, token: 'none' }));
  if (baseUrl === undefined) await settingsFor('https://none.invalid');
  const service = await settingsFor(baseUrl as string);
  const allowNetworkFs = options.allowNetworkFs ?? OPTIONS.allowNetworkFs.default;
  return {
    token,
    tokenFile: tokenFile ?? null,
    service,
    address: addressOf(db),
    store: await openStore(db),
    allowNetworkFs,
  };
}

async function ask(
  { token, service, store }: GivenSettings,
  { mirror, database }: LocalFacts,
  { signal = new AbortController().signal, shareQuota = true }: DoctorOptions,
): Promise<{ facts: ServiceFacts | null; requests: number }> {
  if ('error' in token || 'error' in service) return { facts: null, requests: 0 };
  const isShared = shareQuota && !(database !== null && 'error' in database);
  const maxWaitMs = Math.min(LONGEST_WAIT_MS, service.value.timeoutMs);
  const settings = { ...service.value, ...token.value, retries: 0, concurrency: 1, maxWaitMs, shareQuota: isShared };
  let unshared: string | null = null;
  const watch = {
    signal,
    onSourceEvent(event: { type: string; reason?: string }) {
      if (event.type === 'unshared') unshared = event.reason ?? '';
    },
  };
  const isReadable = 'value' in mirror && mirror.value.version > 0 && mirror.value.version === mirror.value.lastVersion;
  const source = isReadable ? await resumeSource(settings, watch) : openSource(store, settings, watch);
  try {
    return { facts: await askService(source, settings, () => unshared), requests: source.requests() };
  } finally {
    await source.close();
  }
}

/** For the quota, or while other processes' requests are in flight. */
const LONGEST_WAIT_MS = 10_000;

function statusOf(checks: readonly CheckReport[], facts: ServiceFacts | null): DoctorReport['status'] {
  if (facts?.error?.recovery === 'token') return 'refused';
  const found = (status: CheckVerdict['status']): boolean => checks.some((each) => each.status === status);
  return found('problem') ? 'problem' : found('warning') ? 'warning' : 'ok';
}
