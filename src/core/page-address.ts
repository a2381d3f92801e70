/** The address of a view of the page, as `src/page/route.ts` reads it. */
export const pageAddress = (pageUrl: string, view: string): string => `${pageUrl.replace(/\/$/, '')}/#/${view}`;
