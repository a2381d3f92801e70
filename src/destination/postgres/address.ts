import type { AnswerTimeout } from './end-when-silent.ts';

export interface PostgresAddress extends AnswerTimeout {
  readonly kind: 'postgres';
  /** The schema, which holds only the mirror. */
  readonly schema: string;
  /** For messages, logs and reports: `postgres://user@host:port/database?schema=name`. Never contains a password. */
  readonly display: string;
  /** How other programs with libpq encrypt their connections; missing if it is left to them. */
  readonly sslmode?: string;
}
