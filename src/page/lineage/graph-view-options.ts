import type { ColumnLineage } from './column-lineage.ts';
import type { GraphFold, LineageGraph } from './graph.ts';
import type { GraphPlaces } from './place.ts';

export interface GraphViewOptions {
  readonly graph: LineageGraph;
  readonly centre: string;
  readonly places: GraphPlaces;
  /** The id of the node shown in the panel below. */
  readonly selected: string | null;
  readonly columns: ColumnLineage | null;
  /** Increases each time the whole graph is laid out again. */
  readonly arrangement: number;
  arrange(): void;
  onNode(id: string): void;
  onMore(fold: GraphFold): void;
  onClose(fold: GraphFold): void;
}
