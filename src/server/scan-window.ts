/** The rows to read at most for one page if few of many are shown: then it ends, with a cursor that continues. */
export const SCAN_WINDOW_ROWS = 40_000;
