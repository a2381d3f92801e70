import type { ClientConfig } from 'pg';

/** Where a mirror in PostgreSQL is, and how to connect to it. */
export interface PostgresAddress {
  readonly kind: 'postgres';
  /** The schema that holds the mirror alone. */
  readonly schema: string;
  /** For messages, logs and reports: `postgres://user@host:port/database?schema=name`. It never holds a password. */
  readonly display: string;
  /** For the driver. The password is a function, so that nothing that prints this shows it. */
  readonly client: ClientConfig;
}
