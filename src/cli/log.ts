import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

/** Plain lines on stderr: time, level, message. Errors show their stack at `debug` alone. */
export function createLog(level: string): Logger {
  const stream = pretty({
    destination: 2,
    sync: true,
    colorize: false,
    translateTime: 'UTC:yyyy-mm-dd HH:MM:ss',
    ignore: 'pid,hostname',
    singleLine: true,
  });
  const serializers = ['debug', 'trace'].includes(level) ? {} : { err: ({ message }: Error) => message };
  return pino({ level, base: null, serializers }, stream);
}
