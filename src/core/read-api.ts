/** The path that every endpoint of the read API starts with. */
export const API_PATH = '/public/beta';

/** How far back a time bound may reach, in days: the API silently clamps older ones. Executions are kept as long. */
export const LOOKBACK_DAYS = 90;

/** Without a time bound, the API returns this many days of executions. */
export const DEFAULT_WINDOW_DAYS = 30;

/** The API returns this many days of health scores. */
export const SCORE_DAYS = 7;

/** An access token that an HTTP header can carry. */
export const TOKEN_PATTERN = /^[\x21-\x7e]+$/;

/**
 * A served mirror shows a value of the wrong type as empty, so that no answer breaks its description, and sends the
 * value itself in this member. A sync puts it back (R20).
 */
export const AS_SENT = 'obsync_as_sent';

/** The results of a test that fail. Any other than these and `PASS` is no verdict. */
export const FAILING_STATUSES = ['WARN', 'FAIL', 'ERROR'] as const;
