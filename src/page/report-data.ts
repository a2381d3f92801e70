/** The data embedded in a report, used instead of a server. */
interface ReportData {
  /** All answers: JSON, deflated, in base64. */
  readonly packed: string;
  readonly madeAt: string;
}

const place = document.getElementById('answers');

/** Null on a page that a server sent. */
export const reportData: ReportData | null =
  place === null ? null : { packed: place.textContent ?? '', madeAt: place.dataset['madeAt'] ?? '' };
