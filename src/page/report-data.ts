/** What a report carries instead of asking a server. */
interface ReportData {
  /** All answers: JSON, deflated, in base64. */
  readonly packed: string;
  /** When the report was made. */
  readonly madeAt: string;
}

const place = document.getElementById('answers');

/** Null on a page that comes from a server. */
export const reportData: ReportData | null =
  place === null ? null : { packed: place.textContent ?? '', madeAt: place.dataset['madeAt'] ?? '' };
