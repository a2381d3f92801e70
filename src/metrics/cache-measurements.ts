import { type Measurements, MIRROR_STATE, type RowsOf } from './measurements.ts';

export interface MeasuredMirror {
  /** Reads what takes next to no time. No rows if there is no mirror yet. */
  read<Statements extends Readonly<Record<string, string>>>(statements: Statements): Promise<RowsOf<Statements>>;
  /** Reads `MEASUREMENTS`, in another thread where they could block this one. */
  measure(): Promise<Measurements>;
}

/** Measures again only after the mirror has changed, and never twice at a time. */
export function cacheMeasurements({ read, measure }: MeasuredMirror): () => Promise<Measurements> {
  let known: { readonly state: string; readonly measured: Promise<Measurements> } | null = null;
  return async () => {
    const state = JSON.stringify(await read(MIRROR_STATE));
    if (known?.state === state) return known.measured;
    const measured = (known?.measured ?? Promise.resolve()).then(measure, measure);
    const latest = { state, measured };
    known = latest;
    measured.catch(() => {
      // The next caller tries again.
      if (known === latest) known = null;
    });
    return measured;
  };
}

/** No rows of any measurement: those of a mirror that does not exist yet. */
export function noRows<Statements extends object>(statements: Statements): RowsOf<Statements> {
  return Object.fromEntries(Object.keys(statements).map((name) => [name, []])) as unknown as RowsOf<Statements>;
}
