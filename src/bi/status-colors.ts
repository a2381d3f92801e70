/** The colour of each status in every tool. They differ in lightness too, so that the colour-blind tell them apart. */
export const STATUS_COLORS = { PASS: '#2E9E6B', WARN: '#F2A900', FAIL: '#C8321F', ERROR: '#6B2C91' } as const;

/** Whether a column has one of these statuses. */
export const isStatus = (column: string): boolean => column === 'status' || column === 'worst_status';
