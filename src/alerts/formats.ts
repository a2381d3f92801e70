import { createHmac } from 'node:crypto';
import type { AlertMessage } from '../core/alerts/alert.ts';
import { messageText } from '../core/alerts/alert-text.ts';
import { addDays, type Instant } from '../core/time/instant.ts';

export interface OutgoingAlert {
  readonly message: AlertMessage;
  /** The same for each attempt to deliver it. */
  readonly key: string;
  readonly pageUrl: string | null;
  /** The address of the service whose mirror this is. */
  readonly source: string;
}

export interface RequestBody {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const json = (body: unknown): RequestBody => ({
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

/** Slack shows at most this many characters in a header and in a section. */
const [MAX_HEADER, MAX_SECTION] = [150, 3000];

const HALF_CHARACTER = /\p{Surrogate}$/u;

const cut = (text: string, max: number): string => text.slice(0, max).replace(HALF_CHARACTER, '');

const iconOf = ({ event }: AlertMessage): string => (event === 'end' ? '✅' : '🔴');

/** Slack's blocks; `text` is for services that take Slack's messages but know no blocks, such as Discord. */
export function slackBody({ message, pageUrl }: OutgoingAlert): RequestBody {
  const { title, lines, link } = messageText(message, pageUrl);
  const plain = (text: string, max: number) => ({ type: 'plain_text', text: cut(text, max) });
  const icon = iconOf(message);
  const blocks = [
    { type: 'header', text: plain(`${icon} ${title}`, MAX_HEADER) },
    { type: 'section', text: plain(lines.join('\n'), MAX_SECTION) },
    ...(link === null ? [] : [{ type: 'section', text: { type: 'mrkdwn', text: `<${link}|Open the page>` } }]),
  ];
  return json({
    text: escapeSlack([`${icon} ${title}`, ...lines, ...(link === null ? [] : [link])].join('\n')),
    blocks,
  });
}

function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** An Adaptive Card, the only form that Teams takes. A text run is shown as it is, a text block as Markdown. */
export function teamsBody({ message, pageUrl }: OutgoingAlert): RequestBody {
  const { title, lines, link } = messageText(message, pageUrl);
  const block = (text: string, style: object = {}) => ({
    type: 'RichTextBlock',
    inlines: [{ type: 'TextRun', text: cut(text, MAX_SECTION), ...style }],
  });
  const card = {
    ...{ $schema: 'http://adaptivecards.io/schemas/adaptive-card.json', type: 'AdaptiveCard', version: '1.2' },
    body: [block(`${iconOf(message)} ${title}`, { weight: 'Bolder' }), ...lines.map((line) => block(line))],
    ...(link === null ? {} : { actions: [{ type: 'Action.OpenUrl', title: 'Open the page', url: link }] }),
  };
  return json({
    type: 'message',
    attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }],
  });
}

/** A CloudEvent in structured mode. */
export function cloudEvent({ message, key, pageUrl, source }: OutgoingAlert): Record<string, unknown> {
  return {
    ...{ specversion: '1.0', id: key, source, type: `obsync.alert.${message.event}`, subject: message.alert },
    ...{ time: message.ended_at ?? message.begun_at, datacontenttype: 'application/json' },
    data: { ...message, ...messageText(message, pageUrl) },
  };
}

/** A CloudEvent that is signed as Standard Webhooks prescribe, if there is a secret. */
export function webhookBody(alert: OutgoingAlert, secret: string | null, nowMs: number): RequestBody {
  const body = JSON.stringify(cloudEvent(alert));
  const ids = { 'idempotency-key': alert.key, 'webhook-id': alert.key };
  const headers = { 'content-type': 'application/cloudevents+json', ...ids };
  if (secret === null) return { body, headers };
  const seconds = String(Math.floor(nowMs / 1000));
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${alert.key}.${seconds}.${body}`).digest('base64');
  const signed = { 'webhook-timestamp': seconds, 'webhook-signature': `v1,${signature}` };
  return { body, headers: { ...headers, ...signed } };
}

/** Alertmanager would end an alert without `endsAt` after some minutes, so an open one ends in the far future. */
const OPEN_DAYS = 3650;

export function alertmanagerBody({ message, pageUrl }: OutgoingAlert): RequestBody {
  const { title, lines, link } = messageText({ ...message, event: 'begin' }, pageUrl);
  const { begun_at: begun } = message;
  const labels = {
    ...{ alertname: `obsync_${message.kind}`, alert: message.alert, rule: message.rule, subject: message.subject },
    ...message.labels,
  };
  const endsAt: Instant = message.ended_at ?? addDays(begun, OPEN_DAYS);
  const annotations = { summary: title, description: lines.join('\n') };
  return json([{ labels, annotations, startsAt: begun, endsAt, ...(link === null ? {} : { generatorURL: link }) }]);
}
