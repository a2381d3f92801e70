import type { Invariant } from './moment.ts';

/** A watermark claims no more than the T of the run that committed its round's first page (R2). */
export function watermarkClaims(): Invariant {
  const firstPages = new Map<string, string | null>();
  return ({ envId, stream, commit, serverTime, before, after }) => {
    const key = `${envId} ${stream}`;
    if (commit.shown !== undefined && !firstPages.has(key)) firstPages.set(key, serverTime);
    const most = firstPages.has(key) ? firstPages.get(key) : serverTime;
    if (commit.forget === 'all' || commit.settle !== undefined) firstPages.delete(key);
    if (commit.settle === undefined && after.watermark !== before.watermark)
      return [`it moved to ${after.watermark} before its round had ended`];
    if (commit.settle === undefined || !most || after.watermark === null || after.watermark <= most) return [];
    return [`it claims ${after.watermark}, read from ${most}`];
  };
}
