import { type Filter, valuesIn } from './filters.ts';
import type { Asked } from './parameters.ts';
import type { Question, Statement } from './question.ts';
import type { View } from './store.ts';
import { STRETCH_ROWS } from './stretch.ts';
import { isLimited, VISIBLE_IDS } from './visibility.ts';

/** A way that values lead to the rows of a page, as long as there are few of them. */
export interface Lead {
  /** The filter whose values they are; null for the assets of a reader. */
  readonly filter: string | null;
  /** The conditions of each part of the way, the one that an index answers first; the parts have no row in common. */
  readonly legs: readonly (readonly string[])[];
  /** What is passed on the way: rows of which there have to be fewer than so many. */
  readonly passed: readonly { readonly rows: string; readonly fewerThan: number }[];
}

/** A reader of so many assets is not led to their rows. */
const MOST_LEADING_ASSETS = 1001;

/**
 * The way of which an index tells that it has fewer rows than a stretch; null for none: then the rows are walked through in the
 * order of their page. A feed goes by time in any case: mostly there is little new, however much the values lead to.
 */
export function leadOf(view: View, question: Question, asked: Asked, values: Statement['values']): Lead | null {
  if (asked.feed !== null) return null;
  const isShort = (lead: Lead): boolean =>
    countStatements(lead, values).every(
      ({ statement, fewerThan }) => Number(view.rows(statement)[0]?.['passed']) < fewerThan,
    );
  return leadsOf(question, asked).find(isShort) ?? null;
}

/** Counted no further than to the bound. */
export function countStatements({ passed }: Lead, values: Statement['values']) {
  return passed.map(({ rows, fewerThan }) => ({
    fewerThan,
    statement: { sql: `select count(*) as passed from (${rows} limit ${fewerThan})`, values },
  }));
}

/** The ways there are: one by each filter that leads, and one by the assets of a reader who does not see all. */
export function leadsOf(question: Question, { filters }: Asked): Lead[] {
  const { listing, reader } = question;
  const byFilters = Object.keys(filters).flatMap((name) =>
    leadBy(question, listing.filters[name], valuesIn(name), name),
  );
  if (!isLimited(reader)) return byFilters;
  const byReader = leadBy(question, listing.filters['asset_ids'] ?? listing.filters['ids'], VISIBLE_IDS, null);
  const seen = { rows: `select 1 from ${VISIBLE_IDS}`, fewerThan: MOST_LEADING_ASSETS };
  return [...byFilters, ...byReader.map((lead) => ({ ...lead, passed: [seen, ...lead.passed] }))];
}

function leadBy({ listing }: Question, by: Filter | undefined, values: string, filter: Lead['filter']): Lead[] {
  if (by?.legs === undefined) return [];
  const legs = by.legs(values);
  const table = listing.entry.table;
  const rows = [
    ...(by.through === undefined ? [] : [by.through(values)]),
    ...legs.map(([indexed]) => `select 1 from ${table} r where r.env_id = @env and ${indexed}`),
  ];
  return [{ filter, legs, passed: rows.map((passed) => ({ rows: passed, fewerThan: STRETCH_ROWS })) }];
}
