import type { VNode } from 'preact';
import type { EnvironmentTrust } from '../page-data/page-data.ts';

/** A view of one environment. */
export interface ViewFrame {
  readonly environment: EnvironmentTrust;
  /** All that the reader sees. */
  readonly environments: readonly EnvironmentTrust[];
  readonly values: Readonly<Record<string, string>>;
}

export type EnvironmentView = (frame: ViewFrame) => VNode;
