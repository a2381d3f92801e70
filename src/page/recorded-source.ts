import { DEFAULT_PARAMETERS } from '../page-data/default-parameters.ts';
import type { AssetDetail, AssetsFound, PageAnswers, RecordedAnswer } from '../page-data/page-data.ts';
import { MAX_FOUND, searchInMemory, trimmedQuery } from '../page-data/search-rule.ts';
import type { AnswerName, PageQuery, PageSource } from './page-source.ts';

const DEFAULTS: Readonly<Record<string, string | number | boolean>> = DEFAULT_PARAMETERS;

/** Answers queries from the data embedded in a report. */
export function createRecordedSource(packed: string): PageSource {
  const recorded = unpack(packed).then((answers) => new Map(answers.map((answer) => [keyOf(answer), answer.data])));
  return {
    async fetch<N extends AnswerName>(query: PageQuery<N>, { tag }: { readonly tag: string | null }) {
      if (tag !== null) return { kind: 'unchanged' };
      const answers = await recorded;
      const data = query.name === 'search' ? search(answers, query) : truncateRows(answers.get(keyOf(query)), query);
      if (data === undefined) return NOT_IN_REPORT;
      return { kind: 'answer', data: data as PageAnswers[N], tag: 'recorded' };
    },
  };
}

const NOT_IN_REPORT = {
  kind: 'refused',
  status: 404,
  message:
    'This report does not include it. A report has the 1,000 worst failing tests, their assets and lineage, and the first 100 tables',
} as const;

function keyOf({ name, env, parameters }: Omit<RecordedAnswer, 'data'>): string {
  const others = Object.entries(parameters).filter(
    ([parameter, value]) => parameter !== 'limit' && DEFAULTS[parameter]?.toString() !== value,
  );
  return JSON.stringify([name, env, others.sort()]);
}

/** Truncates an answer to the requested limit: the report contains the most rows that the page ever shows. */
function truncateRows(data: unknown, { parameters: { limit } }: PageQuery): unknown {
  if (limit === undefined || data === undefined) return data;
  const { rows, ...rest } = data as { readonly rows: readonly unknown[] };
  return { ...rest, rows: rows.slice(0, Number(limit)) };
}

async function unpack(packed: string): Promise<readonly RecordedAnswer[]> {
  const bytes = Uint8Array.from(atob(packed.trim()), (character) => character.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return (await new Response(unpacked).json()) as readonly RecordedAnswer[];
}

function search(answers: ReadonlyMap<string, unknown>, { env, parameters }: PageQuery): AssetsFound {
  const wanted = trimmedQuery(parameters['q'] ?? '');
  if (wanted === null) return { rows: [], cut: false };
  const assets = [...answers].flatMap(([key, data]) => {
    const [name, of] = JSON.parse(key) as [string, string | null];
    if (name !== 'asset' || of !== env) return [];
    const { asset, path, platform, qualified_name } = data as AssetDetail;
    return [{ ...asset, path, platform, qualified_name }];
  });
  const found = searchInMemory(assets, wanted);
  return { rows: found.slice(0, MAX_FOUND), cut: found.length > MAX_FOUND };
}
