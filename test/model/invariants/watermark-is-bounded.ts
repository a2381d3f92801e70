import { pageOf, roundEndOf } from '../../support/commit-parts.ts';
import type { Invariant } from './commit-transition.ts';

/** A watermark never exceeds T when its round's first page arrived, or its previous value (R2, R9). */
export function watermarkIsBounded(): Invariant {
  const firstPages = new Map<string, string | null>();
  return ({ envId, stream, commit, page, serverTime, before, after }) => {
    // While a scan waits, the feeds have rounds of their own.
    const [own, beside] = [`${envId} ${stream}`, `${envId} ${stream} beside`];
    const key = after.waiting === null ? own : beside;
    if (pageOf(commit).returnedKeys !== undefined && !firstPages.has(key))
      firstPages.set(key, page === null ? serverTime : page.serverTime);
    const most = firstPages.has(key) ? firstPages.get(key) : serverTime;
    if (roundEndOf(commit) !== undefined) {
      // The waiting scan counts from the first page of either (R9).
      if (key === beside && most !== undefined && !firstPages.has(own)) firstPages.set(own, most);
      firstPages.delete(key);
    }
    if (commit.kind === 'discard' && commit.forget === 'all') for (const each of [own, beside]) firstPages.delete(each);
    if (after.watermark === before.watermark) return [];
    if (roundEndOf(commit) === undefined) return [`it moved to ${after.watermark} before its round had ended`];
    if (!most || after.watermark === null || after.watermark <= most) return [];
    return [`it is ${after.watermark}, though the round began at ${most}`];
  };
}
