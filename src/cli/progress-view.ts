import type { Logger } from 'pino';
import { counted } from '../core/counted.ts';
import type { SyncEvent, SyncEventOf } from '../settings/options.ts';
import {
  type CommandArguments,
  type CommandIo,
  columnsOf,
  isQuiet,
  logSettings,
  type OutputStream,
} from './command.ts';
import {
  alertsText,
  INITIAL,
  nextProgress,
  type ProgressState,
  renderProgress,
  requestText,
  waitText,
} from './progress-state.ts';
import { modeText } from './words.ts';

/** Shows work on stderr: a live view on a terminal, else log lines. */
export interface ProgressView<Event = SyncEvent> {
  onProgress(event: Event): void;
  close(): unknown;
}

const FRAME_MS = 100;

/** Loads only the view that is used: a run under cron needs no live view, and a run on a terminal no log. */
export async function watchRun(io: CommandIo, args: CommandArguments): Promise<ProgressView> {
  if (showsProgress(io, args)) return liveView(io.stderr);
  const openLog = () => io.log(logSettings(args));
  return isQuiet(args) ? logProblems(openLog) : logRun(await openLog());
}

/** Whether a terminal shows the progress of a run in place, instead of a log. */
export function showsProgress({ stderr }: CommandIo, args: CommandArguments): boolean {
  const { level, format } = logSettings(args);
  return stderr.isTTY === true && format === 'text' && !isQuiet(args) && !['debug', 'trace'].includes(level);
}

async function liveView(output: OutputStream): Promise<ProgressView> {
  const { createLogUpdate } = await import('log-update');
  const draw = createLogUpdate(output);
  let state: ProgressState = INITIAL;
  const warnings: string[] = [];
  const paint = (): void =>
    draw(renderProgress(state, Date.now(), { columns: columnsOf(output), rows: output.rows || 24 }));
  const timer = setInterval(paint, FRAME_MS);
  return {
    onProgress(event) {
      if (event.type === 'alerts' && event.failed > 0) warnings.push(`${alertsText(event)}\n`);
      state = nextProgress(state, event, Date.now());
    },
    close() {
      clearInterval(timer);
      draw.clear();
      output.write(warnings.splice(0).join(''));
    },
  };
}

/** Opens the log with the first problem: most quiet runs have none, and loading it takes 20 ms of CPU. */
function logProblems(openLog: () => Promise<Logger>): ProgressView {
  let written: Promise<ProgressView> | null = null;
  return {
    onProgress(event) {
      if (!isProblem(event)) return;
      written = (written ?? openLog().then((log) => logRun(log))).then((lines) => {
        lines.onProgress(event);
        return lines;
      });
    },
    close: () => written,
  };
}

function isProblem(event: SyncEvent): boolean {
  if (event.type === 'environments') return event.missing.length > 0;
  if (event.type === 'ended') return event.summary.error !== null;
  return event.type === 'alerts' && event.failed > 0;
}

type RunLevel = 'info' | 'debug';

/** One log line per event; `level` is that of what goes well. */
export function logRun(log: Logger, level: RunLevel = 'info'): ProgressView {
  return {
    onProgress(event) {
      if (event.type === 'environments') logEnvironments(log, level, event);
      if (event.type === 'ended') logEnd(log, level, event);
      if (event.type === 'wait') log.info(waitText(event));
      if (event.type === 'request') log.debug(requestText(event, log.isLevelEnabled('trace')));
      if (event.type === 'alerts') log[event.failed > 0 ? 'warn' : 'info'](alertsText(event));
      if (event.type === 'unshared') log.debug(`the quota is not shared with other processes: ${event.reason}`);
    },
    close() {},
  };
}

function logEnvironments(log: Logger, level: RunLevel, { environments, missing }: SyncEventOf<'environments'>): void {
  log[level](`${counted(environments.length, 'environment')}: ${environments.map(({ name }) => name).join(', ')}`);
  for (const { name } of missing) log.warn(`${name} is no longer listed by the source; its rows stay`);
}

function logEnd(log: Logger, level: RunLevel, { summary, error }: SyncEventOf<'ended'>): void {
  const { environment, stream, mode, reason, status, pages, rows_written, rows_deleted, rows_rejected } = summary;
  if (status === 'stopped' && mode === 'none') return;
  const line = `${environment} ${stream}: ${status}, ${modeText(mode, reason)}, ${counted(pages, 'page')}, ${rows_written} written, ${rows_deleted} deleted`;
  const isIdle = status === 'done' && rows_written + rows_deleted + rows_rejected === 0;
  // The command reports the error that ends the whole run, so it appears once.
  if (summary.error === null || status === 'stopped') log[isIdle ? 'debug' : status === 'done' ? level : 'info'](line);
  else log.warn(error !== null && log.isLevelEnabled('debug') ? { err: error } : {}, `${line}: ${summary.error}`);
}
