import type { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import { type PrettyOptions, prettyFactory, default as prettyStream } from 'pino-pretty';
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

/** Lines of time, level and message, or JSON objects; on stderr by default. Stacks are shown only at `debug`. */
export function createLog({ level, format }: LogSettings, output: 2 | Writable = 2): Logger {
  if (format === 'text') return pino(optionsOf(level), prettyStream({ ...PRETTY, destination: output, sync: true }));
  const lines = output === 2 ? { write: (line: string) => writeLineSync(2, line) } : output;
  return pino({ ...optionsOf(level), ...JSON_LINES }, lines);
}

/** Times as the tables have them, and names of levels instead of numbers. */
const JSON_LINES: pino.LoggerOptions = {
  timestamp: pino.stdTimeFunctions.isoTime,
  formatters: { level: (level) => ({ level }) },
};

/** The log of a server, which never waits for its reader. `flush` calls back when lines are written or given up. */
export function createServerLog({ level, format }: LogSettings): Logger {
  const isText = format === 'text';
  const prettify = isText ? prettyFactory(PRETTY) : String;
  const queue = openLineQueue(2, (dropped) =>
    log.warn(`${dropped} log lines were dropped because they were not read in time`),
  );
  const log: Logger = pino(isText ? optionsOf(level) : { ...optionsOf(level), ...JSON_LINES }, {
    write: (line: string) => queue.write(String(prettify(line))),
    flush: (done: () => void) => void queue.end().then(done),
  } as pino.DestinationStream);
  return log;
}

function optionsOf(level: string): pino.LoggerOptions {
  const serializers = ['debug', 'trace'].includes(level) ? {} : { err: ({ message }: Error) => message };
  return { level, base: null, serializers };
}
