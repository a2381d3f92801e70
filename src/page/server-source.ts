import type { PageAnswers } from '../page-data/page-data.ts';
import type { AnswerName, PageQuery, PageSource, SourceReply } from './page-source.ts';
import { token } from './token.ts';

/** The delay before a retry if the server sends no Retry-After. */
const RETRY_SECONDS = 15;

/** The server that the page came from. */
export const serverSource: PageSource = {
  async fetch(query, { tag, signal }) {
    try {
      const sent = token.peek();
      const answer = await fetch(addressOf(query), { headers: headersOf(sent, tag), signal });
      // Waiting does not help without a token: all clients behind a proxy without one share a quota.
      if (answer.status === 429 && sent === null) return { kind: 'token' };
      return await replyOf(answer);
    } catch {
      // There is no connection, or the response was cut off: no reason is available.
      return { kind: 'unreachable' };
    }
  },
};

/** Relative to the page, which a proxy may serve below a path. */
function addressOf({ name, env, parameters }: PageQuery): string {
  const path = env === null ? `page/${name}` : `page/environments/${encodeURIComponent(env)}/${name}`;
  const query = new URLSearchParams(parameters).toString();
  return new URL(query === '' ? path : `${path}?${query}`, document.baseURI).href;
}

function headersOf(token: string | null, tag: string | null): Record<string, string> {
  return {
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(tag === null ? {} : { 'if-none-match': tag }),
  };
}

async function replyOf<N extends AnswerName>(answer: Response): Promise<SourceReply<PageAnswers[N]>> {
  const { status, headers } = answer;
  if (answer.ok) return { kind: 'answer', data: (await answer.json()) as PageAnswers[N], tag: headers.get('etag') };
  if (status === 304) return { kind: 'unchanged' };
  if (status === 401) return { kind: 'token' };
  const message = await messageOf(answer);
  if (status !== 429 && status < 500) return { kind: 'refused', status, message };
  return { kind: 'wait', seconds: Number(headers.get('retry-after')) || RETRY_SECONDS, message };
}

/** The message of the error envelope. A proxy in front of the server may use another format. */
async function messageOf(answer: Response): Promise<string> {
  const body: unknown = await answer.json().catch(() => null);
  const { error } = (body ?? {}) as { error?: { message?: unknown } };
  return typeof error?.message === 'string' ? error.message : `The server answered ${answer.status}`;
}
