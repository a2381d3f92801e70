import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import type { PageAnswers } from '../../page-data/page-data.ts';
import { component, html } from '../html.ts';
import { liveState, type WatchOptions, watch } from '../live-data.ts';
import type { AnswerName, PageQuery } from '../page-source.ts';
import { describeProblem, notice } from './notice.ts';

type ShowAnswer<N extends AnswerName> = (data: PageAnswers[N]) => VNode;

/** Shows the answer to a query and keeps it fresh, or says why there is none. */
export const liveView = <N extends AnswerName>(query: PageQuery<N>, show: ShowAnswer<N>): VNode =>
  component(LiveView<N>, { query, show });

function LiveView<N extends AnswerName>({ query, show }: { query: PageQuery<N>; show: ShowAnswer<N> }): VNode {
  useLiveQueries([query]);
  const { data, problem } = liveState(query);
  return html`<div aria-busy=${data === null && problem === null}>
    <div role="status">${problem !== null && problem.kind !== 'token' && notice(problem.kind === 'refused' ? 'neutral' : 'warn', describeProblem(problem))}</div>
    ${data === null ? problem === null && html`<p class="faint">Loading …</p>` : show(data)}
  </div>`;
}

/** Keeps the answers to these queries fresh while the component is mounted; with `once`, fetches each once. */
export function useLiveQueries(queries: readonly PageQuery[], options?: WatchOptions): void {
  useEffect(() => {
    const ends = queries.map((query) => watch(query, options));
    return () => {
      for (const end of ends) end();
    };
  }, [JSON.stringify(queries)]);
}
