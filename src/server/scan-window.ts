/**
 * The most rows that are read for one page when few of many may show. The answer has the rows found among them, and a
 * cursor that continues after them.
 */
export const SCAN_WINDOW_ROWS = 40_000;
