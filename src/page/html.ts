import htm from 'htm';
import { type FunctionComponent, h, type VNode } from 'preact';
import { visibleText } from './visible-text.ts';

/** Attributes that are shown or read out. */
const SHOWN = ['title', 'aria-label'];

type DrawElement = (type: string, props: Readonly<Record<string, unknown>> | null, ...children: unknown[]) => VNode;

/**
 * Names come from the service, and may hold characters that hide what they are: texts are drawn with these made
 * visible.
 */
const draw: DrawElement = (type, props, ...children) => {
  const texts = SHOWN.filter((name) => typeof props?.[name] === 'string').map((name) => [name, shown(props?.[name])]);
  const drawn = texts.length === 0 ? props : { ...props, ...Object.fromEntries(texts) };
  return (h as DrawElement)(type, drawn, ...children.map(shown));
};

function shown(child: unknown): unknown {
  if (typeof child === 'string') return visibleText(child);
  return Array.isArray(child) ? child.map(shown) : child;
}

/** Markup with one outermost element. Values in it are always text, never markup. */
export const html = htm.bind(draw) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

/** What has a state of its own while it is shown. */
export const component = <P extends object>(show: (props: P) => VNode | null, props: P): VNode =>
  h(show as FunctionComponent<object>, props) as VNode;
