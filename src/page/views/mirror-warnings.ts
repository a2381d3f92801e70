import type { EnvironmentTrust, MirrorTrust, StreamTrust } from '../../page-data/page-data.ts';
import { countOf, formatAge, formatInstant } from '../format.ts';

const DAY_MS = 86_400_000;
/** Outcomes of a stream's last run that need no attention. */
const HEALTHY_STATUSES: readonly (string | null)[] = ['done', null];

/** Why an environment of the mirror should not be trusted, one sentence each. */
export function environmentWarnings({ missing_since, streams }: EnvironmentTrust, nowMs: number): string[] {
  const missing =
    missing_since === null
      ? []
      : [`No longer listed since ${formatInstant(missing_since)}: its rows stay in the mirror.`];
  const each = streams.flatMap((stream) =>
    streamWarnings(stream, nowMs).map((warning) => ({ stream: stream.stream, warning })),
  );
  const shared = Object.entries(Object.groupBy(each, ({ warning }) => warning));
  return [
    ...missing,
    ...shared.map(([warning, who = []]) => `${who.map(({ stream }) => stream).join(', ')}: ${warning}.`),
  ];
}

function streamWarnings(stream: StreamTrust, nowMs: number): string[] {
  const { complete_at, status, error, held_count, rejected_count, gap_count } = stream;
  const warnings: (string | false)[] = [
    !HEALTHY_STATUSES.includes(status) && `the last read ended ${status}${error === null ? '' : `: ${error}`}`,
    complete_at === null && 'never read completely',
    complete_at !== null &&
      nowMs - Date.parse(complete_at) > DAY_MS &&
      `last complete ${formatAge(complete_at, nowMs)}`,
    (held_count ?? 0) > 0 && `${countOf(held_count ?? 0, 'deletion')} held back`,
    (rejected_count ?? 0) > 0 && `${countOf(rejected_count ?? 0, 'row')} rejected`,
    (gap_count ?? 0) > 0 && `${countOf(gap_count ?? 0, 'gap')} in the history`,
  ];
  return warnings.filter((warning) => warning !== false);
}

export function mirrorWarnings({ limited_to, last_run, last_verify }: MirrorTrust): string[] {
  const warnings: (string | false)[] = [
    last_run === null && limited_to !== 'assets' && 'There has been no sync yet.',
    last_run !== null &&
      !['done', 'running'].includes(last_run.status) &&
      `The last sync ended ${last_run.status}${last_run.error === null ? '' : `: ${last_run.error}`}.`,
    last_verify !== null &&
      !last_verify.equal &&
      `The last verification found ${countOf(last_verify.difference_count, 'difference')} between the mirror and the service.`,
  ];
  return warnings.filter((warning) => warning !== false);
}
