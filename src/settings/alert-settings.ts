import { ALERT_GROUPS, ALERT_KINDS, type AlertChannel, type AlertRule } from '../core/alerts/alert.ts';
import { didYouMean } from '../core/closest-name.ts';
import { isJsonObject } from '../core/json.ts';
import { FAILING_STATUSES } from '../core/read-api.ts';
import { DURATION_FORM, durationSeconds } from '../core/time/duration.ts';
import { isLoopback } from '../source/base-url.ts';
import { OptionError, readOption } from './option-error.ts';
import { readTextFile } from './read-text-file.ts';

/** What a run needs to decide and deliver alerts. */
export interface AlertSettings {
  /** The page of `obsync serve`, which messages link to; null without one. */
  readonly pageUrl: string | null;
  readonly rules: readonly AlertRule[];
  readonly channels: readonly AlertChannel[];
}

/** Reads the rules, and the channels' secrets. @throws OptionError that names the place, and quotes no secret */
export function alertSettings(given: unknown): AlertSettings {
  const options = record('alerts', given, ['channels', 'rules', 'page']);
  const channels = Object.entries(record('alerts.channels', options['channels'] ?? {})).map(readChannel);
  const targets = channels.filter(({ type }) => type !== 'ping').map(({ name }) => name);
  const { rules = [] } = options;
  if (!Array.isArray(rules)) throw refusal('alerts.rules', 'a list of rules');
  const read = rules.map((rule, i) => readRule(`alerts.rules[${i}]`, rule, targets));
  for (const [i, { name }] of read.entries())
    if (read.findIndex((rule) => rule.name === name) < i)
      throw refusal(`alerts.rules[${i}].name`, `another name: ${name} is taken`);
  const pageUrl = options['page'] === undefined ? null : text('alerts.page', options['page']);
  if (pageUrl !== null && !URL.canParse(pageUrl))
    throw refusal('alerts.page', 'an address such as https://obsync.example.com');
  return { channels, rules: read, pageUrl };
}

const CHANNEL_KEYS = {
  slack: ['urlFile', 'urlEnv', 'allowHttp'],
  teams: ['urlFile', 'urlEnv', 'allowHttp'],
  webhook: ['urlFile', 'urlEnv', 'allowHttp', 'secretFile', 'secretEnv'],
  alertmanager: ['urlFile', 'urlEnv', 'allowHttp'],
  ping: ['urlFile', 'urlEnv', 'allowHttp'],
  exec: ['command'],
} as const satisfies Record<AlertChannel['type'], readonly string[]>;

function readChannel([name, given]: [string, unknown]): AlertChannel {
  const where = `alerts.channels.${name}`;
  const types = Object.keys(CHANNEL_KEYS) as AlertChannel['type'][];
  const type = choice(`${where}.type`, isJsonObject(given) ? given['type'] : undefined, types);
  const channel = record(where, given, ['type', ...CHANNEL_KEYS[type]]);
  if (type === 'exec') {
    const [program = '', ...args] = texts(`${where}.command`, channel['command']);
    if (program === '') throw refusal(`${where}.command`, 'a list: the program and its arguments');
    return { name, type, program, args };
  }
  const url = urlOf(where, channel);
  if (type !== 'webhook') return { name, type, url };
  const isSigned = 'secretFile' in channel || 'secretEnv' in channel;
  return { name, type, url, secret: isSigned ? signingSecret(where, channel) : null };
}

/** As Standard Webhooks write it: other receivers would read the key differently. */
function signingSecret(where: string, channel: Readonly<Record<string, unknown>>): string {
  const found = secret(where, channel, 'secret');
  if (/^whsec_[A-Za-z0-9+/]{16,}=*$/.test(found)) return found;
  throw refusal(where, 'a secret that begins with whsec_, followed by the key in base64, in its file or variable');
}

function urlOf(where: string, channel: Readonly<Record<string, unknown>>): string {
  const url = URL.parse(secret(where, channel, 'url'));
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw refusal(`${where}`, 'a URL that begins with https:// in its file or variable');
  if (url.protocol === 'http:' && channel['allowHttp'] !== true && !isLoopback(url.hostname))
    throw refusal(where, 'a URL with https, because it is a secret; or "allowHttp": true');
  try {
    [url.username, url.password].forEach(decodeURIComponent);
  } catch {
    throw refusal(where, 'a URL whose user and password write a literal % as %25');
  }
  return url.href;
}

/** A secret from the file or variable that the channel names (as R25 for the token). */
function secret(where: string, channel: Readonly<Record<string, unknown>>, name: 'url' | 'secret'): string {
  const [kind, ...others] = (['File', 'Env'] as const).filter((each) => channel[name + each] !== undefined);
  if (kind === undefined || others.length > 0)
    throw refusal(where, `${name}File (a file that contains the ${name}) or ${name}Env (the name of a variable)`);
  const [key, given] = [`${where}.${name}${kind}`, channel[name + kind]];
  const isVariable = kind === 'Env';
  // A secret in the wrong place is not quoted.
  if (/\w\w:\/|(^|\/)whsec_[\w+/=]{16,}$/.test(String(given)) || (isVariable && !/^\w+$/.test(String(given))))
    throw refusal(
      key,
      `the name of a ${isVariable ? 'variable' : 'file'} that contains the ${name}, not the ${name} itself`,
    );
  const place = text(key, given);
  const found = (isVariable ? process.env[place] : readOption('alerts', () => readTextFile(place)))?.trim();
  if (!found) throw new OptionError('alerts', `${where}: ${place} is empty or not set: write the ${name} into it`);
  return found;
}

const RULE_KEYS = ['name', 'when', 'after', 'remind', 'group', 'to'];
const WHEN_KEYS = [
  ...['kind', 'environment', 'severity', 'status', 'tags', 'owner', 'path', 'dimension', 'below', 'by', 'maxAge'],
];

function readRule(where: string, given: unknown, channels: readonly string[]): AlertRule {
  const rule = record(where, given, RULE_KEYS);
  const when = record(`${where}.when`, rule['when'] ?? {}, WHEN_KEYS);
  const list = (key: string): string[] => texts(`${where}.when.${key}`, when[key]);
  const chosen = <Choice extends string>(key: string, choices: readonly Choice[]): Choice[] =>
    list(key).map((each) => choice(`${where}.when.${key}`, each, choices));
  const [below, by] = (['below', 'by'] as const).map((key) => number(`${where}.when.${key}`, when[key], 0));
  const kinds = chosen('kind', ALERT_KINDS);
  const dimensions = list('dimension');
  if (kinds.includes('score') && below === null && by === null)
    throw refusal(`${where}.when`, 'below or by, for scores');
  if (dimensions.length > 0 && !kinds.includes('score'))
    throw refusal(`${where}.when`, 'the kind score, for a dimension');
  const to = texts(`${where}.to`, rule['to']).map((name) => choice(`${where}.to`, name, channels));
  if (to.length === 0) throw refusal(`${where}.to`, 'the name of a channel');
  return {
    name: text(`${where}.name`, rule['name']),
    kinds: kinds.length > 0 ? kinds : ALERT_KINDS,
    ...{
      environments: list('environment'),
      severities: list('severity'),
      statuses: chosen('status', FAILING_STATUSES),
    },
    ...{ tags: list('tags'), owners: list('owner'), paths: list('path'), below: below ?? null, by: by ?? null },
    dimensions: dimensions.length > 0 ? dimensions : ['total'],
    maxAgeSeconds: seconds(`${where}.when.maxAge`, when['maxAge'] ?? '24h') ?? 0,
    after: Math.ceil(number(`${where}.after`, rule['after'], 1) ?? 1),
    remindSeconds: seconds(`${where}.remind`, rule['remind']),
    group: choice(`${where}.group`, rule['group'] ?? 'test', ALERT_GROUPS),
    to,
  };
}

function record(where: string, given: unknown, keys?: readonly string[]): Record<string, unknown> {
  if (!isJsonObject(given)) throw refusal(where, 'an object');
  for (const key of Object.keys(given))
    if (keys !== undefined && !keys.includes(key))
      throw new OptionError(
        'alerts',
        `there is no ${where}.${key}${didYouMean(key, keys)}${key === 'url' ? '. A URL is a secret: name its file with urlFile, or its variable with urlEnv' : ''}`,
      );
  return given;
}

function text(where: string, given: unknown): string {
  if (typeof given === 'string' && given.trim() !== '') return given;
  throw refusal(where, 'a text');
}

/** One text may stand for a list. */
function texts(where: string, given: unknown): string[] {
  return given === undefined ? [] : [given].flat().map((each) => text(where, each));
}

function choice<Choice extends string>(where: string, given: unknown, choices: readonly Choice[]): Choice {
  const found = choices.find((each) => each === given);
  if (found === undefined) throw refusal(where, `one of ${choices.join(', ')}`);
  return found;
}

function number(where: string, given: unknown, min: number): number | null {
  if (given === undefined) return null;
  if (typeof given === 'number' && given >= min) return given;
  throw refusal(where, `a number of at least ${min}`);
}

function seconds(where: string, given: unknown): number | null {
  if (given === undefined) return null;
  const found = typeof given === 'string' ? durationSeconds(given) : null;
  if (found === null) throw refusal(where, DURATION_FORM);
  return found;
}

const refusal = (where: string, what: string): OptionError => new OptionError('alerts', `${where} needs ${what}`);
