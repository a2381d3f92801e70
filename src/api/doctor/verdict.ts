/** What a check found. `skipped`: a fact that it depends on is unknown. */
export interface CheckVerdict {
  readonly status: 'ok' | 'warning' | 'problem' | 'skipped';
  readonly text: string;
  /** What to do, as a sentence; null if nothing, or if the text says it. */
  readonly advice: string | null;
}

/** One check: its name, and what it makes of the facts; null if it does not apply. */
export type DoctorCheck<Facts> = readonly [name: string, verdict: (facts: Facts) => CheckVerdict | null];

const verdict =
  (status: CheckVerdict['status']) =>
  (text: string, advice: string | null = null): CheckVerdict => ({ status, text, advice });

export const ok = verdict('ok');
export const warning = verdict('warning');
export const problem = verdict('problem');
export const skipped = verdict('skipped');
