import type { CollectionName } from '../streams/catalogue.ts';
import type { RunProgressEvent } from '../sync/progress.ts';
import type { VerifyReport } from '../verify/verify-report.ts';

/** The library gives runs and verifications no other streams than the collections: their results name no others. */
export type CollectionsEvent = RunProgressEvent<CollectionName>;

export type CollectionsReport = VerifyReport<CollectionName>;
