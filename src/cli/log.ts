import { type Logger, pino } from 'pino';
import { type PrettyOptions, prettyFactory } from 'pino-pretty';
import type { LogSettings } from './command.ts';
import { openLineQueue, writeLineSync } from './line-queue.ts';
import { printable } from './printable.ts';

const PRETTY: PrettyOptions = {
  colorize: false,
  translateTime: "UTC:yyyy-mm-dd HH:MM:ss'Z'",
  ignore: 'pid,hostname',
  singleLine: true,
  messageFormat: (log, key) => printable(String(log[key])),
};

/** Where lines go. `flush` calls back when they are written or given up. */
interface LogOutput {
  write(line: string): unknown;
  flush?(done: () => void): void;
}

const STDERR: LogOutput = { write: (line) => writeLineSync(2, line) };

/** Lines of time, level and message, or JSON objects; on stderr by default. Stacks are shown only at `debug`. */
export function createLog({ level, format }: LogSettings, output: LogOutput = STDERR): Logger {
  const serializers = ['debug', 'trace'].includes(level) ? {} : { err: ({ message }: Error) => message };
  const options = { level, base: null, serializers };
  if (format === 'json') return pino({ ...options, ...JSON_LINES }, output);
  const prettify = prettyFactory(PRETTY);
  const { flush = (done) => done() } = output;
  const lines = { write: (line: string) => void output.write(prettify(line)), flush };
  return pino(options, lines);
}

/** Times as the tables have them, and names of levels instead of numbers. */
const JSON_LINES: pino.LoggerOptions = {
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (level) => ({ level }) },
};

/** The log of a server, which never waits for its reader. */
export function createServerLog(settings: LogSettings): Logger {
  const queue = openLineQueue(2, (dropped) =>
    log.warn(`${dropped} log lines were dropped because they were not read in time`),
  );
  const log = createLog(settings, { write: queue.write, flush: (done) => void queue.end().then(done) });
  return log;
}
