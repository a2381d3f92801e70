/** Defaults of parameters: the server applies them, and the page omits them, so a report finds the answers. */
export const DEFAULT_PARAMETERS = { limit: 100, offset: 0, days: 30, all: false, of: 'assets' } as const;

/** The periods that the page offers for trends. */
export const TREND_DAYS = [14, DEFAULT_PARAMETERS.days, 90] as const;
