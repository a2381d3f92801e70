/** Every endpoint of the read API stands under this path. */
export const API_PATH = '/public/beta';

/** The API shows nothing older by a time bound: it cuts an older bound without saying so. Executions are kept as long. */
export const LOOKBACK_DAYS = 90;

/** Without a bound, the API shows the executions of so many days. */
export const DEFAULT_WINDOW_DAYS = 30;

/** The API shows no health score that is older. */
export const SCORE_DAYS = 7;

/** What an HTTP header can carry of an access token. */
export const TOKEN_PATTERN = /^[\x21-\x7e]+$/;
