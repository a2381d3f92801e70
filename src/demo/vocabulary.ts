/** The sample's words that belong to no single domain; no rules. */

/** Names of dashboards and looks, one for each explore. */
export const DASHBOARD_NAMES = ['Overview', 'Weekly Review', 'Trends', 'Funnel'];

export const REGIONS = ['EMEA', 'Americas', 'APAC', 'Nordics', 'España', 'Île-de-France'];

export const EXPLORE_NAMES = ['Performance', 'Activity', 'History', 'Quality'];

export const GRAINS = ['daily', 'weekly', 'monthly'];

/** Names of tables that appear while the sample changes. */
export const NEWCOMERS = ['pilot', 'snapshot', 'reconciled', 'anomalies', 'backfill', 'by_region', 'rolling_28d', 'v2'];

export const ENTITY_NOTES = [
  'One row per key of {}.',
  'All {} of the last three years, late arrivals included.',
  'Current state of {}; history is in the snapshot of the same name.',
  'Deduplicated {}, newest version wins.',
  '{} as the source system shows them, renamed and typed.',
];

export const REVISED_NOTES = [
  'Reviewed with the owning team; definitions now match the metric handbook.',
  'Late arrivals are picked up for three days.',
  'Superseded next quarter, see the migration guide.',
  'Grain is one row per key and day.',
];

export const EXCEPTIONS = [
  'Database Error: statement timed out after 600 s',
  'Database Error: insufficient privileges to operate on schema',
  'Compilation Error: depends on a node which was not found',
];
