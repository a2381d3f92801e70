/** A logger such as pino's. The library's types import no package: TypeScript would make its users install it. */
export interface ServerLogger {
  level: string;
  trace(...line: unknown[]): void;
  debug(...line: unknown[]): void;
  info(...line: unknown[]): void;
  warn(...line: unknown[]): void;
  error(...line: unknown[]): void;
  fatal(...line: unknown[]): void;
  silent(...line: unknown[]): void;
  child(bindings: object, options?: object): ServerLogger;
}

export type ServerLog = Pick<ServerLogger, 'info' | 'warn' | 'error'>;
