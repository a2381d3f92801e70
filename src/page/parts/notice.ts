import type { VNode } from 'preact';
import { html } from '../html.ts';
import type { PageProblem } from '../page-source.ts';
import { levelIcon, type StatusLevel } from './icon.ts';

export const notice = (level: StatusLevel, text: VNode | string): VNode =>
  html`<p class="notice ${level}">${levelIcon(level)}<span>${text}</span></p>`;

/** What went wrong, and what happens next, in one line. */
export function describeProblem(problem: PageProblem): string {
  if (problem.kind === 'token') return 'The server asks for a token.';
  if (problem.kind === 'away') return 'The server does not answer. The page tries again every few seconds.';
  if (problem.kind === 'wait') return `${sentence(problem.message)} The page asks again in ${problem.seconds} s.`;
  return problem.status === 403
    ? `Your token may not see this. ${sentence(problem.message)}`
    : sentence(problem.message);
}

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);
