import { counted } from '../core/counted.ts';
import type { SyncEvent, SyncEventOf } from '../settings/options.ts';
import { printable } from './printable.ts';
import { truncate } from './text-width.ts';
import { modeText } from './words.ts';

/** What the live view of a run shows. Times are milliseconds since 1970. */
export interface ProgressState {
  readonly lines: ReadonlyMap<string, SyncEventOf<'stream'>>;
  readonly ended: number;
  readonly wait: { readonly why: string; readonly untilMs: number } | null;
}

export const INITIAL: ProgressState = { lines: new Map(), ended: 0, wait: null };

export function nextProgress(state: ProgressState, event: SyncEvent, nowMs: number): ProgressState {
  switch (event.type) {
    case 'stream':
      return { ...state, lines: new Map(state.lines).set(`${event.environment.id} ${event.stream}`, event) };
    case 'ended': {
      const lines = new Map(state.lines);
      lines.delete(`${event.environment.id} ${event.summary.stream}`);
      return { ...state, lines, ended: state.ended + 1 };
    }
    case 'wait':
      return { ...state, wait: { why: whyOf(event), untilMs: nowMs + event.delayMs } };
    case 'request':
      return state.wait !== null && nowMs >= state.wait.untilMs ? { ...state, wait: null } : state;
    default:
      return state;
  }
}

const WAITS: Readonly<Record<SyncEventOf<'wait'>['reason'], string>> = {
  quota: 'waiting for quota',
  'rate-limited': 'too many requests (429), waiting',
  retry: 'retrying in',
};

function whyOf({ reason, about }: SyncEventOf<'wait'>): string {
  return about === undefined ? WAITS[reason] : `${about}, ${WAITS[reason]}`;
}

export function alertsText({ delivered, failed, error }: SyncEventOf<'alerts'>): string {
  const sent = `alerts: ${counted(delivered, 'message')} delivered`;
  return failed === 0 ? sent : `${sent}, ${failed} not delivered: ${error}`;
}

export function waitText(event: SyncEventOf<'wait'>): string {
  return `${whyOf(event)} ${(event.delayMs / 1000).toFixed(1)} s`;
}

/** A response, on one line; with its query if `everything` is logged. */
export function requestText({ status, path, query, durationMs }: SyncEventOf<'request'>, everything: boolean): string {
  return `${status === 0 ? 'no response' : status} GET ${path}${everything ? query : ''} ${Math.round(durationMs)} ms`;
}

export function renderProgress(
  { lines, ended, wait }: ProgressState,
  nowMs: number,
  screen: { columns: number; rows: number },
): string {
  const shown = [...lines.values()].slice(0, Math.max(1, screen.rows - 3)).map(renderLine);
  const left = wait === null ? 0 : Math.ceil((wait.untilMs - nowMs) / 1000);
  const waiting = wait !== null && left > 0 ? `, ${wait.why} ${left} s` : '';
  const summary = `${counted(ended, 'stream')} ended, ${lines.size} in progress`;
  // A command that reads no stream shows only its waits.
  const last = ended + lines.size > 0 ? [summary + waiting] : waiting === '' ? [] : [waiting.slice(2)];
  return [...shown, ...last].map((line) => truncate(printable(line), screen.columns - 1)).join('\n');
}

function renderLine({ environment, stream, counters }: SyncEventOf<'stream'>): string {
  const { mode, reason, rows, pages, requests } = counters;
  return `  ${environment.name}  ${stream.padEnd(22)}  ${modeText(mode, reason)}  ${counted(rows, 'row')}  ${counted(pages, 'page')}  ${counted(requests, 'request')}`;
}
