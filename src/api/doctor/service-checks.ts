import type { ServiceFacts } from './service-facts.ts';
import { type CheckVerdict, type DoctorCheck, ok, problem, skipped, warning } from './verdict.ts';

/** All are skipped if the service was not asked. */
export const SERVICE_CHECKS: readonly DoctorCheck<ServiceFacts | null>[] = [
  ['service', (facts) => (facts === null ? skipped('fix the problems above first') : serviceVerdict(facts))],
  ['environments', (facts) => answered(facts, environmentsVerdict)],
  ['scopes', (facts) => answered(facts, scopesVerdict)],
  ['clock', (facts) => answered(facts, clockVerdict)],
  ['quota', (facts) => facts && quotaVerdict(facts)],
];

const NOT_ANSWERED = skipped("unknown: the environments couldn't be listed");

const answered = (facts: ServiceFacts | null, judge: (known: ServiceFacts) => CheckVerdict): CheckVerdict | null =>
  facts && (facts.error === null ? judge(facts) : NOT_ANSWERED);

function serviceVerdict({ host, error, seconds }: ServiceFacts): CheckVerdict {
  if (error === null) return ok(`${host} accepted the token, after ${seconds.toFixed(1)} s`);
  return error.recovery === 'quota' ? skipped(`${host}: the quota is used up`) : problem(error.message);
}

function environmentsVerdict({ environments, choiceError }: ServiceFacts): CheckVerdict {
  if (choiceError !== null) return problem(choiceError);
  const names = environments.map(({ name }) => name);
  const more = names.length > SHOWN ? ` and ${names.length - SHOWN} more` : '';
  return ok(`${names.slice(0, SHOWN).join(', ')}${more}`);
}

const SHOWN = 10;

function scopesVerdict({ lists, environment }: ServiceFacts): CheckVerdict {
  if (environment === null) return skipped('not known without an environment');
  const those = (...kinds: readonly string[]): string =>
    lists.flatMap(({ stream, error }) => (kinds.includes(error?.recovery ?? '') ? [stream] : [])).join(', ');
  const [denied, away] = [those('forbidden'), those('not-live')];
  if (denied !== '')
    return problem(`the token may not read ${denied} of ${environment}`, 'Create a token that has their scope.');
  if (those('quota') !== '') return skipped('unknown: the quota is used up');
  const failed = lists.find(({ error }) => error !== null && error.recovery !== 'not-live')?.error;
  if (failed) return warning(failed.message);
  if (away !== '') return warning(`not live at the service (404): ${away}`, 'Syncs leave them out until they are.');
  return ok(`${lists.map(({ stream }) => stream).join(', ')} of ${environment} can be read`);
}

const LARGEST_DIFFERENCE_SECONDS = 60;

function clockVerdict({ aheadSeconds }: ServiceFacts): CheckVerdict {
  if (aheadSeconds === null)
    return warning('the answers have no Date, so every sync scans everything', 'Check the service and the proxies.');
  const seconds = Math.abs(Math.round(aheadSeconds));
  const text = `this machine's clock is ${seconds} s ${aheadSeconds < 0 ? 'behind' : 'ahead of'} the service's`;
  if (seconds <= LARGEST_DIFFERENCE_SECONDS) return ok(text);
  return warning(text, 'Set the clock. Syncs go by the service’s time, but schedules and ages by this machine’s.');
}

/** A sync of a small environment without changes takes half as many requests. */
const FEW_REQUESTS = 20;

function quotaVerdict({ error, quota, unshared }: ServiceFacts): CheckVerdict {
  if (error?.recovery === 'quota') return warning(error.message);
  if (unshared !== null)
    return warning(`each process counts for itself: ${unshared}`, 'Let this user write the state folder.');
  if (quota === null) return error === null ? ok('the service states none') : NOT_ANSWERED;
  const { remaining, limit, resetSeconds } = quota;
  const text = `${remaining}${limit === null ? '' : ` of ${limit}`} requests left for ${resetSeconds} s`;
  return remaining < FEW_REQUESTS ? warning(text, 'A sync may wait for the next window.') : ok(text);
}
