/**
 * A logger such as pino's. What the library declares imports no package: TypeScript would require each of its users to
 * install it.
 */
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
