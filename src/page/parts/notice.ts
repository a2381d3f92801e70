import type { VNode } from 'preact';
import { html } from '../html.ts';
import type { PageProblem } from '../page-source.ts';
import { levelIcon, type StatusLevel } from './status.ts';

export const notice = (level: StatusLevel, text: VNode | string): VNode =>
  html`<p class="notice ${level}">${levelIcon(level)}<span>${text}</span></p>`;

/** What went wrong and what to do or expect, in one line. */
export function describeProblem(problem: PageProblem): string {
  if (problem.kind === 'token') return 'The server requires a token.';
  if (problem.kind === 'unreachable') return 'The server is not responding. Retrying every few seconds.';
  if (problem.kind === 'wait') return `${sentence(problem.message)} Retrying in ${problem.seconds} s.`;
  return problem.status === 403
    ? `Your token has no access to this. ${sentence(problem.message)}`
    : sentence(problem.message);
}

const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);
