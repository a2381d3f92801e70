import type {
  AssetColumns,
  AssetDetail,
  AssetsFound,
  FailingNow,
  LineageCentre,
  MirrorTrust,
  Neighbours,
  Trends,
  UntestedTables,
} from '../page-data/page-data.ts';

/** What may be asked for, and the shape of each answer. */
export interface PageAnswers {
  readonly mirror: MirrorTrust;
  readonly failing: FailingNow;
  readonly trends: Trends;
  readonly untested: UntestedTables;
  readonly search: AssetsFound;
  readonly asset: AssetDetail;
  readonly columns: AssetColumns;
  readonly neighbours: Neighbours;
  readonly node: LineageCentre;
}

export type AnswerName = keyof PageAnswers;

export interface PageQuestion<N extends AnswerName = AnswerName> {
  readonly name: N;
  /** Null for what is not of one environment. */
  readonly env: string | null;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Why there is no answer, by what the page does about it. */
export type PageProblem =
  /** The token is missing or unknown: the page asks for one. */
  | { readonly kind: 'token' }
  /** The token may not see this, or it does not exist: the view says so. */
  | { readonly kind: 'refused'; readonly status: number; readonly message: string }
  /** The page asks again after this time. */
  | { readonly kind: 'wait'; readonly seconds: number; readonly message: string }
  /** Nobody answers: the page asks again. */
  | { readonly kind: 'away' };

export type SourceReply<T> =
  | { readonly kind: 'answer'; readonly data: T; readonly tag: string | null }
  /** The answer with the tag that was sent along is still right. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'problem'; readonly problem: PageProblem };

/** Where all data of the page comes from. */
export interface PageSource {
  /** Never fails: what goes wrong is a problem in the reply. */
  ask<N extends AnswerName>(
    question: PageQuestion<N>,
    known: { readonly tag: string | null; readonly signal: AbortSignal },
  ): Promise<SourceReply<PageAnswers[N]>>;
}
