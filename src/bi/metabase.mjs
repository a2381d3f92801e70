// Written by `obsync bi`. The next run overwrites this file: changes are lost.
//
// Creates or updates the dashboard of metabase.json in a Metabase. Items with the same name in its collection or on the
// dashboard are updated, never duplicated.
//
//   METABASE_URL         such as https://metabase.example.com
//   METABASE_API_KEY     an API key of Metabase (Admin settings, Authentication, API keys)
//   METABASE_DATABASE    the name of the mirror's database in Metabase (default: obsync)
//   METABASE_ALLOW_HTTP  1 allows sending the key over plain http to other machines
//
// It needs only Node 20 or later: node metabase.mjs
import { readFileSync } from 'node:fs';

const { METABASE_API_KEY: key, METABASE_DATABASE: databaseName = 'obsync' } = process.env;

const TIMEOUT_MS = 60_000;

/** How much of a response a message quotes. */
const SHOWN_CHARACTERS = 300;

/** An error that the user can fix. */
class Refusal extends Error {}

async function main() {
  const root = readAddress();
  if (!key) throw new Refusal('set METABASE_API_KEY to an API key of Metabase');
  const wanted = readWanted();
  const call = (method, path, body) => callMetabase(new URL(path, root), { method, path, body });
  const database = await findDatabase(call);
  const collectionId = await findOrCreateCollection(call, wanted.collection);
  const present = await itemsOf(call, collectionId);
  const dashboard = await findOrCreateDashboard(call, wanted.dashboard, { collectionId, present });
  // A question that was moved to another collection is still on the dashboard.
  for (const { card_id, card } of dashboard.dashcards)
    if (card?.name && !present.has(`card ${card.name}`)) present.set(`card ${card.name}`, card_id);
  const upsert = (question) => upsertQuestion(call, question, { database, collectionId, present });
  const parameters = [];
  for (const { choices, ...parameter } of wanted.parameters)
    parameters.push({ ...parameter, ...(choices && choicesFrom(await upsert(choices.question), choices.column)) });
  const places = wanted.tabs.flatMap((tab) => tab.places.map((place) => ({ ...place, tab: tab.name })));
  const tags = new Map();
  for (const place of places.filter(({ question }) => question)) {
    place.card_id = await upsert(place.question);
    tags.set(place.card_id, Object.keys(place.question.template_tags));
  }
  await completeDashboard(call, dashboard, { places, parameters, tags });
  const address = new URL(`dashboard/${dashboard.id}`, root);
  console.log(`${tags.size} questions and the dashboard are now in Metabase: ${address}`);
}

/** The address of Metabase, ending in a slash. No message quotes the input: it may contain a password. */
function readAddress() {
  const { METABASE_URL: given, METABASE_ALLOW_HTTP: allowHttp } = process.env;
  if (!given) throw new Refusal('set METABASE_URL to the address of Metabase');
  if (!URL.canParse(given)) throw new Refusal('METABASE_URL is not a URL: correct it');
  const url = new URL(given);
  if (url.username !== '' || url.password !== '')
    throw new Refusal('METABASE_URL must not contain a user name or a password');
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new Refusal('METABASE_URL must begin with https:// or http://');
  if (url.protocol === 'http:' && allowHttp !== '1' && !isLoopback(url.hostname))
    throw new Refusal(
      'METABASE_URL is plain http, which sends the key unencrypted: use https, or set METABASE_ALLOW_HTTP to 1',
    );
  return new URL(url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`, url.origin);
}

function isLoopback(hostname) {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(hostname);
}

/** The charts and the dashboard to put into Metabase. */
function readWanted() {
  try {
    return JSON.parse(readFileSync(new URL('metabase.json', import.meta.url), 'utf8'));
  } catch {
    throw new Refusal('metabase.json next to this script is missing or incomplete: run obsync bi metabase again');
  }
}

async function callMetabase(url, { method, path, body }) {
  const { status, text } = await answerOf(url, { method, path, body });
  if (status === 401 || status === 403)
    throw new Refusal(`Metabase refused ${method} ${path} (${status}): check METABASE_API_KEY and its group`);
  if (status < 200 || status > 299)
    throw new Refusal(
      `Metabase answered ${status} to ${method} ${path}: ${printable(text).slice(0, SHOWN_CHARACTERS)}`,
    );
  try {
    return JSON.parse(text);
  } catch {
    throw unknownAnswer(`${method} ${path}`, 'something other than JSON');
  }
}

async function answerOf(url, { method, path, body }) {
  try {
    const answer = await fetch(url, {
      method,
      // A redirect would send the key to another address.
      redirect: 'error',
      headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: answer.status, text: await answer.text() };
  } catch (error) {
    const reason = error.cause?.message || error.message;
    throw new Refusal(`${method} ${path} got no complete response (${reason}): check METABASE_URL`);
  }
}

function unknownAnswer(request, what) {
  return new Refusal(`the server answered ${request} with ${what}: check METABASE_URL`);
}

/** The objects of a response that is a list, or has one in its data. */
function listIn(answer, request) {
  const list = Array.isArray(answer) ? answer : answer?.data;
  if (!Array.isArray(list) || list.some((each) => typeof each !== 'object' || each === null))
    throw unknownAnswer(request, 'something other than a list');
  return list;
}

function idIn(answer, request) {
  if (!Number.isInteger(answer?.id)) throw unknownAnswer(request, 'no id');
  return answer.id;
}

/** A text on one line, without the key and without terminal control characters. */
function printable(text) {
  const withoutKey = key ? text.replaceAll(key, '…') : text;
  return withoutKey.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, ' ').trim();
}

async function findDatabase(call) {
  const databases = listIn(await call('GET', 'api/database'), 'GET api/database');
  const found = databases.find(({ name }) => name === databaseName);
  const names = databases.map(({ name }) => name).join(', ');
  const choice = databases.length === 0 ? '' : `, or set METABASE_DATABASE to one of ${names}`;
  if (!found) throw new Refusal(`Metabase has no database ${databaseName}: add it there${choice}`);
  if (found.engine !== 'sqlite' && found.engine !== 'postgres')
    throw new Refusal(`the database ${databaseName} uses ${found.engine}: choose one that uses SQLite or PostgreSQL`);
  return found;
}

async function findOrCreateCollection(call, name) {
  const collections = listIn(await call('GET', 'api/collection'), 'GET api/collection');
  const found = collections.find((each) => each.name === name && each.location === '/' && !each.archived);
  return idIn(found ?? (await call('POST', 'api/collection', { name })), 'POST api/collection');
}

/** The questions and dashboards of a collection, by kind and name. */
async function itemsOf(call, collectionId) {
  const items = new Map();
  const limit = 200;
  for (let offset = 0; ; offset += limit) {
    const path = `api/collection/${collectionId}/items?models=card&models=dashboard&limit=${limit}&offset=${offset}`;
    const data = listIn(await call('GET', path), `GET ${path}`);
    for (const { model, name, id } of data) items.set(`${model} ${name}`, id);
    if (data.length < limit) return items;
  }
}

async function upsertQuestion(call, { sql, template_tags, ...question }, { database, collectionId, present }) {
  const native = { query: sql[database.engine], 'template-tags': template_tags };
  const dataset_query = { type: 'native', database: database.id, native };
  const body = { ...question, collection_id: collectionId, dataset_query };
  const id = present.get(`card ${question.name}`);
  if (id === undefined) return idIn(await call('POST', 'api/card', body), 'POST api/card');
  await call('PUT', `api/card/${id}`, body);
  return id;
}

/** The dashboard with its contents. */
async function findOrCreateDashboard(call, dashboard, { collectionId, present }) {
  const id =
    present.get(`dashboard ${dashboard.name}`) ??
    idIn(await call('POST', 'api/dashboard', { ...dashboard, collection_id: collectionId }), 'POST api/dashboard');
  const path = `api/dashboard/${id}`;
  const answer = await call('GET', path);
  idIn(answer, `GET ${path}`);
  const partsIn = (name) => listIn(answer[name] ?? [], `GET ${path}`);
  return { id, dashcards: partsIn('dashcards'), tabs: partsIn('tabs'), parameters: partsIn('parameters') };
}

/** What people have added or moved stays. Missing places are added, to the tab of their name. */
async function completeDashboard(call, { id, dashcards, tabs, parameters }, wanted) {
  const missing = wanted.places.filter((place) => !dashcards.some((dashcard) => isAt(place, dashcard)));
  // Metabase assigns an id to tabs and cards with a negative one.
  const newTabs = [...new Set(missing.map(({ tab }) => tab))].filter((tab) => !tabs.some(({ name }) => name === tab));
  const allTabs = [...tabs.map(({ id, name }) => ({ id, name })), ...newTabs.map((name, i) => ({ id: -1 - i, name }))];
  const added = missing.map(({ question, tab, ...place }, i) => ({
    ...place,
    id: -1 - i,
    dashboard_tab_id: allTabs.find(({ name }) => name === tab).id,
  }));
  // If there are tabs, every card must be in one.
  const kept = dashcards.map((each) => ({
    ...toRequest(each),
    dashboard_tab_id: each.dashboard_tab_id ?? allTabs[0]?.id ?? null,
  }));
  const isTheirs = (parameterId) => !wanted.parameters.some((parameter) => parameter.id === parameterId);
  await call('PUT', `api/dashboard/${id}`, {
    parameters: [...wanted.parameters, ...parameters.filter((parameter) => isTheirs(parameter.id))],
    dashcards: [...kept, ...added].map((each) => ({
      ...each,
      parameter_mappings: [
        ...(each.parameter_mappings ?? []).filter(({ parameter_id }) => isTheirs(parameter_id)),
        ...(wanted.tags.get(each.card_id) ?? []).map((tag) => mappingOf(tag, each.card_id)),
      ],
    })),
    // Metabase deletes tabs that are not sent.
    tabs: allTabs,
  });
}

/** Whether a card of the dashboard is a place's question or, since a heading has none, its heading. */
function isAt({ card_id, visualization_settings }, dashcard) {
  if (card_id !== null) return dashcard.card_id === card_id;
  return dashcard.visualization_settings?.text === visualization_settings.text;
}

/** Where a parameter takes its choices from. */
function choicesFrom(card_id, column) {
  const value_field = ['field', column, { 'base-type': 'type/Text' }];
  return { values_query_type: 'list', values_source_type: 'card', values_source_config: { card_id, value_field } };
}

/** A parameter has the id of its tag. */
function mappingOf(tag, cardId) {
  return { parameter_id: tag, card_id: cardId, target: ['variable', ['template-tag', tag]] };
}

const REQUEST_FIELDS = [
  ...['id', 'card_id', 'action_id', 'dashboard_tab_id', 'row', 'col', 'size_x', 'size_y'],
  ...['parameter_mappings', 'visualization_settings', 'inline_parameters'],
];

/** Metabase returns more fields than it accepts. */
function toRequest(dashcard) {
  const fields = Object.entries(dashcard).filter(([name]) => REQUEST_FIELDS.includes(name));
  const series = (dashcard.series ?? []).map(({ id }) => ({ id }));
  return { ...Object.fromEntries(fields), series };
}

try {
  await main();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(`metabase.mjs: ${printable(error.message)}`);
  process.exitCode = 1;
}
