import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { html } from '../html.ts';
import { type GraphViewOptions, renderEdges, renderItem } from './drawing.ts';
import { type GraphItem, graphItems, itemToward } from './graph-items.ts';
import { type PanZoom, usePanZoom } from './pan-zoom.ts';

export function GraphView(options: GraphViewOptions): VNode {
  const { graph, centre, places } = options;
  const items = graphItems(graph, places);
  const viewport = usePanZoom(options);
  const [focused, setFocused] = useState(`node ${centre}`);
  const pointers = usePointers(viewport);
  // Exactly one item is in the tab order; the arrow keys reach the others.
  const current = items.find(({ key }) => key === focused) ?? items.find(({ key }) => key === `node ${centre}`);
  const focus = (item: GraphItem): void => {
    setFocused(item.key);
    viewport.reveal(item);
    elementOf(viewport, item.key)?.focus({ preventScroll: true });
  };
  const name = graph.nodes.get(centre)?.node.name ?? centre;
  return html`<div class="graph">
    ${toolbar(viewport, options)}
    <svg ref=${viewport.frame} role="group" aria-label="Lineage of ${name.slice(0, 100)}" aria-describedby="graph-help" ...${pointers}
      onKeyDown=${(event: KeyboardEvent) => handleKey(event, { items, current, focus, viewport, options })}>
      <g transform=${viewport.transform}>
        ${renderEdges(options)}
        ${items.map((item) =>
          renderItem(item, options, {
            key: item.key,
            'data-key': item.key,
            role: 'button',
            tabindex: item.key === current?.key ? 0 : -1,
            onClick: () => options.press(item),
            onFocus: ({ currentTarget }: FocusEvent) => {
              setFocused(item.key);
              // After a click the item must not move away from the pointer.
              if ((currentTarget as Element).matches(':focus-visible')) viewport.reveal(item);
            },
          }),
        )}
      </g>
    </svg>
  </div>`;
}

function toolbar(viewport: PanZoom, { arrange }: GraphViewOptions): VNode {
  return html`<div class="controls tools">
    <button type="button" aria-label="Zoom in" onClick=${() => viewport.zoom(1.25)}>+</button>
    <button type="button" aria-label="Zoom out" onClick=${() => viewport.zoom(0.8)}>−</button>
    <button type="button" onClick=${() => viewport.fit()}>Fit</button>
    <button type="button" onClick=${arrange}>Arrange</button>
    <span id="graph-help" class="faint">Arrow keys move, Enter opens, Shift and arrows pan, + and − zoom, 0 fits.</span>
  </div>`;
}

/** Compares keys as strings: an id may contain characters that are invalid in a selector. */
const elementOf = ({ frame }: PanZoom, key: string): SVGElement | undefined =>
  [...(frame.current?.querySelectorAll<SVGElement>('[data-key]') ?? [])].find(({ dataset }) => dataset['key'] === key);

interface KeyContext {
  readonly items: readonly GraphItem[];
  readonly current: GraphItem | undefined;
  readonly focus: (item: GraphItem) => void;
  readonly viewport: PanZoom;
  readonly options: GraphViewOptions;
}

const PAN_PX = 60;
const PANS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [PAN_PX, 0],
  ArrowRight: [-PAN_PX, 0],
  ArrowUp: [0, PAN_PX],
  ArrowDown: [0, -PAN_PX],
};

function handleKey(event: KeyboardEvent, { items, current, focus, viewport, options }: KeyContext): void {
  const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
  if (ctrlKey || metaKey || altKey || current === undefined) return;
  const pan = PANS[key];
  if (pan !== undefined && shiftKey) viewport.pan(...pan);
  else if (pan !== undefined) {
    const next = itemToward(items, current, key);
    if (next !== null) focus(next);
  } else if (key === '+' || key === '=') viewport.zoom(1.25);
  else if (key === '-') viewport.zoom(0.8);
  else if (key === '0') viewport.fit();
  else if (key === 'Enter' || key === ' ') options.press(current);
  else return;
  event.preventDefault();
}

/** Dragging the background pans; pinching, or the wheel with Ctrl, zooms. */
function usePointers(viewport: PanZoom) {
  const down = useRef(new Map<number, { readonly x: number; readonly y: number }>());
  const release = ({ pointerId }: PointerEvent): void => void down.current.delete(pointerId);
  return {
    onPointerDown: (event: PointerEvent) => {
      down.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (event.target === event.currentTarget) (event.currentTarget as Element).setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      const before = down.current.get(event.pointerId);
      if (before === undefined) return;
      const now = { x: event.clientX, y: event.clientY };
      const [other] = [...down.current].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
      if (other === undefined) viewport.pan(now.x - before.x, now.y - before.y);
      else
        viewport.zoom(
          Math.hypot(now.x - other.x, now.y - other.y) / (Math.hypot(before.x - other.x, before.y - other.y) || 1),
        );
      down.current.set(event.pointerId, now);
    },
    onPointerUp: release,
    onPointerCancel: release,
    onLostPointerCapture: release,
    onWheel: (event: WheelEvent) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const { left, top } = (event.currentTarget as Element).getBoundingClientRect();
      viewport.zoom(event.deltaY < 0 ? 1.1 : 0.9, { x: event.clientX - left, y: event.clientY - top });
    },
  };
}
