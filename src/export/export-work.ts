import type { Database } from 'better-sqlite3';
import type { ExportFolder } from './export-folder.ts';
import type { ExportManifest } from './manifest.ts';
import type { ExportRelation } from './relation.ts';

/** What an export should contain, whatever is in its folder already. */
export interface ExportScope
  extends Pick<ExportManifest, 'format' | 'environments' | 'limited' | 'instant' | 'schema_version' | 'run'> {
  readonly relations: readonly ExportRelation[];
  /** How many earlier exports keep their files, for readers of their manifests. */
  readonly keep: number;
  /** The size at which a file is full. */
  readonly targetBytes: number;
  /** Makes the names of data files unique; null where a lock prevents two exports at the same time. */
  readonly nonce: string | null;
}

/** The mirror as of one instant, and where to write it; the connection is inside a read transaction. */
export interface ExportWork {
  readonly connection: Database;
  readonly scope: ExportScope;
  readonly folder: ExportFolder;
  /** The folder as messages name it. */
  readonly to: string;
  /** Where readers find the folder: its path, or the address in object storage. */
  readonly location: string;
  readonly signal: AbortSignal;
  readonly nowMs: number;
  onTable(table: string, rows: number): void;
}
