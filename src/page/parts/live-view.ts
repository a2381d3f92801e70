import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { component, html } from '../html.ts';
import { liveData } from '../live-data.ts';
import type { AnswerName, PageAnswers, PageQuestion } from '../page-source.ts';
import { describeProblem, notice } from './notice.ts';

interface LiveViewOptions<N extends AnswerName> {
  readonly question: PageQuestion<N>;
  readonly show: (data: PageAnswers[N]) => VNode;
}

/** Shows the answer to a query and keeps it fresh, or says why there is none. */
export const liveView = <N extends AnswerName>(
  question: PageQuestion<N>,
  show: (data: PageAnswers[N]) => VNode,
): VNode => component<LiveViewOptions<N>>(LiveView, { question, show });

function LiveView<N extends AnswerName>({ question, show }: LiveViewOptions<N>): VNode {
  useWatched([question]);
  const { data, problem } = liveData.state(question).value;
  return html`<div aria-busy=${data === null && problem === null}>
    <div role="status">${problem !== null && problem.kind !== 'token' && notice(problem.kind === 'refused' ? 'neutral' : 'warn', describeProblem(problem))}</div>
    ${data === null ? problem === null && html`<p class="faint">Loading …</p>` : show(data)}
  </div>`;
}

/** Keeps the answers to these queries fresh while the component is mounted. */
export function useWatched(questions: readonly PageQuestion[]): void {
  useEffect(() => {
    const ends = questions.map((question) => liveData.watch(question));
    return () => {
      for (const end of ends) end();
    };
  }, [JSON.stringify(questions)]);
}
