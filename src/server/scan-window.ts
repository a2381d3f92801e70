/**
 * Rows looked at for one page where few of many may show: an answer holds what was found among them, and a cursor that goes on
 * behind them.
 */
export const SCAN_WINDOW_ROWS = 40_000;
