import type { EnvironmentTrust } from '../page-data/page-data.ts';

export interface ViewFrame {
  readonly environment: EnvironmentTrust;
  /** All environments that the token sees. */
  readonly environments: readonly EnvironmentTrust[];
  readonly values: Readonly<Record<string, string>>;
}
