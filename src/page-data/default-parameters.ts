/**
 * The parameters that a question to the page's data may leave out. The server fills them in, the page asks for as much
 * at once, and a report knows an answer by the others alone.
 */
export const DEFAULT_PARAMETERS = { limit: 100, offset: 0, days: 30, all: false, of: 'assets' } as const;

/** The numbers of days that a reader of the trends chooses from. */
export const TREND_DAYS = [14, DEFAULT_PARAMETERS.days, 90] as const;
