import type { ColumnLineage } from './column-lineage.ts';
import type { GraphFold, LineageGraph } from './graph.ts';
import type { GraphPlaces } from './place.ts';

export interface GraphViewOptions {
  readonly graph: LineageGraph;
  readonly centre: string;
  readonly places: GraphPlaces;
  /** The id of the node that the panel below tells of. */
  readonly selected: string | null;
  readonly columns: ColumnLineage | null;
  /** Counts the times that everything was laid out anew. */
  readonly arrangement: number;
  arrange(): void;
  onNode(id: string): void;
  onMore(fold: GraphFold): void;
  onClose(fold: GraphFold): void;
}
