import htm from 'htm';
import { type FunctionComponent, h, type VNode } from 'preact';

/** Markup with one outermost element. Values in it are always text, never markup. */
export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: unknown[]) => VNode;

/** What has a state of its own while it is shown. */
export const component = <P extends object>(show: (props: P) => VNode | null, props: P): VNode =>
  h(show as FunctionComponent<object>, props) as VNode;
