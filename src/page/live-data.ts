import { effect, untracked } from '@preact/signals';
import { LiveData } from './live.ts';
import { createRecordedSource } from './recorded-source.ts';
import { reportData } from './report-data.ts';
import { createServerSource } from './server-source.ts';
import { isTokenRefused, token } from './token.ts';

export const liveData = new LiveData(
  reportData === null ? createServerSource(() => token.value) : createRecordedSource(reportData.packed),
  () => {
    isTokenRefused.value = true;
  },
);

let isFirst = true;
// Data that one token has fetched must not be shown under another one.
effect(() => {
  token.value;
  if (!isTokenRefused.value && !isFirst) untracked(() => liveData.clear());
  isFirst = false;
});
