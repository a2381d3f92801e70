/** What bringing a mirror up to date did: made it, brought an older one up to date, or nothing. */
export type MirrorChange = 'made' | 'updated' | 'none';
