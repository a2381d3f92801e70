const place = document.getElementById('answers');

/** The data embedded in a report: all answers as JSON, deflated, in base64. Null on a page that a server sent. */
export const reportData =
  place === null ? null : { packed: place.textContent ?? '', madeAt: place.dataset['madeAt'] ?? '' };
