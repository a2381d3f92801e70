import htm from 'htm';
import { type FunctionComponent, h, type VNode } from 'preact';
import { visibleText } from './visible-text.ts';

/** Attributes that are displayed or read aloud. */
const SHOWN = ['title', 'aria-label'];

type DrawElement = (type: string, props: Readonly<Record<string, unknown>> | null, ...children: unknown[]) => VNode;

/** Every text is drawn visibly: names from the service may contain invisible or bidirectional characters. */
const draw: DrawElement = (type, props, ...children) => {
  const texts = SHOWN.filter((name) => typeof props?.[name] === 'string').map((name) => [name, shown(props?.[name])]);
  const drawn = texts.length === 0 ? props : { ...props, ...Object.fromEntries(texts) };
  return (h as DrawElement)(type, drawn, ...children.map(shown));
};

function shown(child: unknown): unknown {
  if (typeof child === 'string') return visibleText(child);
  return Array.isArray(child) ? child.map(shown) : child;
}

/** A template with one root element. Interpolated values are always text, never markup. */
export const html = htm.bind(draw) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

/** A component with its own hooks and state. */
export const component = <P extends object>(show: (props: P) => VNode | null, props: P): VNode =>
  h(show as FunctionComponent<object>, props) as VNode;
