/** What a check found. `skipped` says nothing: a fact that it needs could not be found out. */
export interface CheckVerdict {
  readonly status: 'ok' | 'warning' | 'problem' | 'skipped';
  readonly text: string;
  /** What to do, as a sentence; null if nothing, or if the text says it. */
  readonly advice: string | null;
}

/** One check: its name, and what it makes of the facts; null if it does not apply. */
export interface DoctorCheck<Facts> {
  readonly name: string;
  readonly verdict: (facts: Facts) => CheckVerdict | null;
}

/** A fact, or why it could not be found out. */
export type FoundFact<Value> = { readonly value: Value } | { readonly error: string };

export const ok = (text: string): CheckVerdict => ({ status: 'ok', text, advice: null });

export const warning = (text: string, advice: string | null = null): CheckVerdict => ({
  status: 'warning',
  text,
  advice,
});

export const problem = (text: string, advice: string | null = null): CheckVerdict => ({
  status: 'problem',
  text,
  advice,
});

export const skipped = (text: string): CheckVerdict => ({ status: 'skipped', text, advice: null });
