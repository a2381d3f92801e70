import type { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import { type PrettyOptions, prettyFactory, default as prettyStream } from 'pino-pretty';
import { openLineQueue } from './line-queue.ts';
import { printable } from './printable.ts';

const PRETTY: PrettyOptions = {
  colorize: false,
  translateTime: "UTC:yyyy-mm-dd HH:MM:ss'Z'",
  ignore: 'pid,hostname',
  singleLine: true,
  messageFormat: (log, key) => printable(String(log[key])),
};

/** Plain lines, by default on stderr: time, level, message. Errors show their stack only at `debug`. */
export function createLog(level: string, destination: 2 | Writable = 2): Logger {
  return pino(optionsOf(level), prettyStream({ ...PRETTY, destination, sync: true }));
}

/**
 * The log of a server, which runs whether or not anything reads its log. `flush` calls back when the lines are written,
 * or when the reader was too slow.
 */
export function createServerLog(level: string): Logger {
  const prettify = prettyFactory(PRETTY);
  const queue = openLineQueue(2, (dropped) =>
    log.warn(`${dropped} log lines were dropped because they were not read in time`),
  );
  const log: Logger = pino(optionsOf(level), {
    write: (line: string) => queue.write(String(prettify(line))),
    flush: (done: () => void) => void queue.end().then(done),
  } as pino.DestinationStream);
  return log;
}

function optionsOf(level: string): pino.LoggerOptions {
  const serializers = ['debug', 'trace'].includes(level) ? {} : { err: ({ message }: Error) => message };
  return { level, base: null, serializers };
}
