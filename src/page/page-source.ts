import type { PageAnswers } from '../page-data/page-data.ts';

export type AnswerName = keyof PageAnswers;

export interface PageQuery<N extends AnswerName = AnswerName> {
  readonly name: N;
  /** Null if the query is not about one environment. */
  readonly env: string | null;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Why there is no answer, distinguished by what the page does about it. */
export type PageProblem =
  /** The token is missing or unknown: the page prompts for one. */
  | { readonly kind: 'token' }
  /** The token has no access, or the object does not exist: the view says so. */
  | { readonly kind: 'refused'; readonly status: number; readonly message: string }
  /** The page retries after this time. */
  | { readonly kind: 'wait'; readonly seconds: number; readonly message: string }
  /** The server is unreachable: the page retries. */
  | { readonly kind: 'unreachable' };

export type SourceReply<T> =
  | { readonly kind: 'answer'; readonly data: T; readonly tag: string | null }
  /** The answer with the given tag is still current. */
  | { readonly kind: 'unchanged' }
  | PageProblem;

export interface PageSource {
  /** Never rejects: failures are reported as a problem. */
  fetch<N extends AnswerName>(
    query: PageQuery<N>,
    known: { readonly tag: string | null; readonly signal: AbortSignal },
  ): Promise<SourceReply<PageAnswers[N]>>;
}
