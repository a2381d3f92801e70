import type { CollectionName } from '../streams/catalogue.ts';
import type { RunProgressEvent } from '../sync/progress.ts';
import type { VerifyReport } from '../verify/verify-report.ts';

/** The library passes only collections to runs and verifications, so their results name no other streams. */
export type CollectionsEvent = RunProgressEvent<CollectionName>;

export type CollectionsReport = VerifyReport<CollectionName>;
