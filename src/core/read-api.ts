/** The path of every endpoint of the read API begins with this. */
export const API_PATH = '/public/beta';

/**
 * How far back a time bound may reach: the API moves an older bound without saying so. It keeps executions for as long.
 */
export const LOOKBACK_DAYS = 90;

/** Without a time bound, the API shows the executions of so many days. */
export const DEFAULT_WINDOW_DAYS = 30;

/** The API shows the health scores of so many days. */
export const SCORE_DAYS = 7;

/** The characters of an access token that an HTTP header can carry. */
export const TOKEN_PATTERN = /^[\x21-\x7e]+$/;
