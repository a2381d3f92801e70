/**
 * The maximum number of rows to read for one page if few of many are shown. The answer then has the rows found so far,
 * and a cursor that continues after them.
 */
export const SCAN_WINDOW_ROWS = 40_000;
