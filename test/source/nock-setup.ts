import nock from 'nock';
import { afterAll, afterEach, expect } from 'vitest';
import type { Source, SourceEvent } from '../../src/core/ports/source.ts';
import type { HttpSourceOptions } from '../../src/source/connection.ts';
import { bytesOf, type RecordedRequest, type Reply } from '../support/api-server.ts';
import { openSource, type VirtualTime, virtualTime } from './setup.ts';

/**
 * nock replaces the service in tests of single exchanges, where status, headers, body and order matter. Tests of
 * sockets, resets and time-outs use `setUp`, which starts a real server; nock must not be loaded in their files,
 * because it takes over every connection of the process.
 */
export const SERVICE_URL = 'https://api.example.com';

/** A response, or a function that returns one for the request. */
type Answer = Reply | ((request: RecordedRequest) => Reply);

interface Always {
  readonly always: Answer;
}

/** As the last element: the response to all further requests, at least one. */
export function always(answer: Answer): Always {
  return { always: answer };
}

interface NockSetup {
  /** The requests in order. nock resolves `..` in a target; a real server would receive it as sent. */
  readonly requests: readonly RecordedRequest[];
  readonly source: Source;
  readonly events: SourceEvent[];
  readonly time: VirtualTime;
}

/**
 * A source and its responses, each used once, in order. The test fails if a response is left over or missing.
 */
export function answerWith(answers: readonly (Answer | Always)[], options: Partial<HttpSourceOptions> = {}): NockSetup {
  const requests: RecordedRequest[] = [];
  for (const answer of answers) answerNext(answer, requests);
  const time = virtualTime();
  const events: SourceEvent[] = [];
  const source = openSource(SERVICE_URL, { ...time, onEvent: (event) => events.push(event), ...options });
  return { requests, source, events, time };
}

function answerNext(answer: Answer | Always, requests: RecordedRequest[]): void {
  const isLast = 'always' in answer;
  const given = isLast ? answer.always : answer;
  nock(SERVICE_URL)
    .persist(isLast)
    .get(() => true)
    .reply((incoming: Request) => {
      const request = recordOf(incoming);
      requests.push(request);
      const { status = 200, headers, body } = typeof given === 'function' ? given(request) : given;
      return [status, bytesOf(body), { 'content-type': 'application/json', ...headers }];
    });
}

function recordOf({ method, url, headers }: Request): RecordedRequest {
  return { method, target: url.slice(new URL(url).origin.length), headers: Object.fromEntries(headers) };
}

const unanswered: string[] = [];
const onNoMatch = ({ url }: Request) => unanswered.push(url);

nock.disableNetConnect();
nock.emitter.on('no match', onNoMatch);

afterEach(() => {
  const leftOver = { answers: nock.pendingMocks(), requests: unanswered.splice(0) };
  nock.cleanAll();
  expect(leftOver).toEqual({ answers: [], requests: [] });
});

afterAll(() => {
  nock.emitter.off('no match', onNoMatch);
  nock.enableNetConnect();
  nock.restore();
});
