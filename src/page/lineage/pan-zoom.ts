import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { GraphViewOptions } from './drawing.ts';
import { type GraphPoint, NODE_HEIGHT, NODE_WIDTH } from './place.ts';

/** The visible part of the graph: translated first, then scaled. */
interface GraphViewport {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

const MIN_SCALE = 0.25;
const MAX_SCALE = 2;
/** Names are unreadable at a smaller scale. A graph that does not fit at this scale is centred on the asset. */
const READABLE_SCALE = 0.7;
const MARGIN_PX = 24;
const FOLD_PX = 60;

export type PanZoom = ReturnType<typeof usePanZoom>;

export function usePanZoom({ places, centre, arrangement }: GraphViewOptions) {
  const frame = useRef<SVGSVGElement>(null);
  const [viewport, setViewport] = useState<GraphViewport>({ x: 0, y: 0, scale: 1 });
  const size = (): GraphPoint => ({ x: frame.current?.clientWidth ?? 0, y: frame.current?.clientHeight ?? 0 });
  const fit = (): void => setViewport(fitGraph([...places.values()], places.get(centre) ?? { x: 0, y: 0 }, size()));
  useLayoutEffect(fit, [arrangement]);
  return {
    frame,
    transform: `translate(${round(viewport.x)} ${round(viewport.y)}) scale(${round(viewport.scale)})`,
    pan: (byX: number, byY: number) => setViewport(({ x, y, scale }) => ({ x: x + byX, y: y + byY, scale })),
    zoom: (by: number, at?: GraphPoint) =>
      setViewport((before) => zoomAt(before, by, at ?? { x: size().x / 2, y: size().y / 2 })),
    fit,
    /** Pans by the least distance that makes this point visible. */
    reveal: (point: GraphPoint) => setViewport((before) => revealPoint(before, point, size())),
  };
}

const round = (value: number): number => Math.round(value * 1000) / 1000;

function fitGraph(points: readonly GraphPoint[], centre: GraphPoint, size: GraphPoint): GraphViewport {
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [left, right] = [Math.min(...xs) - NODE_WIDTH / 2 - FOLD_PX, Math.max(...xs) + NODE_WIDTH / 2 + FOLD_PX];
  const [top, bottom] = [Math.min(...ys) - NODE_HEIGHT / 2, Math.max(...ys) + NODE_HEIGHT / 2];
  const whole = Math.min((size.x - MARGIN_PX) / (right - left), (size.y - MARGIN_PX) / (bottom - top), 1);
  const isReadable = whole >= READABLE_SCALE;
  const scale = isReadable ? whole : READABLE_SCALE;
  const middle = isReadable ? { x: (left + right) / 2, y: (top + bottom) / 2 } : centre;
  return { x: size.x / 2 - middle.x * scale, y: size.y / 2 - middle.y * scale, scale };
}

function zoomAt({ x, y, scale }: GraphViewport, by: number, at: GraphPoint): GraphViewport {
  const next = Math.max(MIN_SCALE, Math.min(MAX_SCALE, scale * by));
  const grown = next / scale;
  return { x: at.x - (at.x - x) * grown, y: at.y - (at.y - y) * grown, scale: next };
}

function revealPoint(viewport: GraphViewport, point: GraphPoint, size: GraphPoint): GraphViewport {
  const { x, y, scale } = viewport;
  const [halfWidth, halfHeight] = [(NODE_WIDTH / 2) * scale + MARGIN_PX, (NODE_HEIGHT / 2) * scale + MARGIN_PX];
  return {
    x: x + shift(x + point.x * scale, halfWidth, size.x),
    y: y + shift(y + point.y * scale, halfHeight, size.y),
    scale,
  };
}

/** How far to pan so that an interval around `at` lies within `size`. */
function shift(at: number, half: number, size: number): number {
  if (at - half < 0) return half - at;
  return at + half > size ? size - half - at : 0;
}
