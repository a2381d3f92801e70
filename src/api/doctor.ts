import { checkOptions } from '../settings/check-options.ts';
import type { ProgressOptions } from '../settings/options.ts';
import { watchOf } from '../settings/sync-settings.ts';
import { LOCAL_CHECKS } from './doctor/local-checks.ts';
import { type CheckedOptions, findLocalFacts } from './doctor/local-facts.ts';
import { SERVICE_CHECKS } from './doctor/service-checks.ts';
import { askService, type ServiceFacts } from './doctor/service-facts.ts';
import type { CheckVerdict, DoctorCheck } from './doctor/verdict.ts';

/** `onProgress` receives each check when it is done; those that need no network come first. */
export interface DoctorOptions extends CheckedOptions, ProgressOptions<DoctorEvent> {}

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
    for (const [name, verdict] of all) {
      const found = verdict(facts);
      if (found === null) continue;
      checks.push({ check: name, ...found });
      options.onProgress?.({ type: 'check', check: name, ...found });
    }
  };
  const local = await findLocalFacts(options);
  check(LOCAL_CHECKS, local);
  const { token, service, store } = local;
  const settings = 'error' in token || 'error' in service ? null : { ...service.value, ...token.value };
  const facts = settings && (await askService(local, settings, watchOf(options).signal));
  check(SERVICE_CHECKS, facts);
  return { db: store.display, status: statusOf(checks, facts), requests: facts?.requests ?? 0, checks };
}

function statusOf(checks: readonly CheckReport[], facts: ServiceFacts | null): DoctorReport['status'] {
  if (facts?.error?.recovery === 'token') return 'refused';
  const found = (status: CheckVerdict['status']): boolean => checks.some((each) => each.status === status);
  return found('problem') ? 'problem' : found('warning') ? 'warning' : 'ok';
}
