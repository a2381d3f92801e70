// Written by `obsync bi`. The next run writes it again: changes are lost then.
//
// Brings the dashboard of metabase.json into a Metabase, or up to date there: what has the same name is changed, never made twice.
//
//   METABASE_URL       such as https://metabase.example.com
//   METABASE_API_KEY   an API key of Metabase (Admin settings, Authentication, API keys)
//   METABASE_DATABASE  the name under which Metabase knows the mirror (by default: obsync)
//
// It needs Node 20 or later and nothing else: node metabase.mjs
import { readFileSync } from 'node:fs';

const { METABASE_URL: base, METABASE_API_KEY: key, METABASE_DATABASE: databaseName = 'obsync' } = process.env;

const TIMEOUT_MS = 60_000;

const DIALECTS = { sqlite: 'sqlite', postgres: 'postgres' };

/** What the reader can do something about. */
class Refusal extends Error {}

async function main() {
  if (!base) throw new Refusal('set METABASE_URL to the address of Metabase');
  if (!key) throw new Refusal('set METABASE_API_KEY to an API key of Metabase');
  const wanted = JSON.parse(readFileSync(new URL('metabase.json', import.meta.url), 'utf8'));
  const database = await findDatabase();
  const collectionId = await findOrMakeCollection(wanted.collection);
  const present = await itemsOf(collectionId);
  const cards = new Map();
  for (const { question } of wanted.places.filter((place) => place.question))
    cards.set(question.name, await putQuestion(question, { database, collectionId, present }));
  const dashboardId = await putDashboard(wanted, { collectionId, present, cards });
  console.log(
    `${cards.size} questions and the dashboard are in Metabase: ${new URL(`dashboard/${dashboardId}`, root())}`,
  );
}

function root() {
  return base.endsWith('/') ? base : `${base}/`;
}

async function call(method, path, body) {
  let answer;
  try {
    answer = await fetch(new URL(path, root()), {
      method,
      // A redirect would send the key to another address.
      redirect: 'error',
      headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    const reason = error.cause?.message ?? error.message;
    throw new Refusal(`${method} ${path} got no answer (${reason}): check METABASE_URL`);
  }
  if (answer.status === 401 || answer.status === 403)
    throw new Refusal(`Metabase refused ${method} ${path} (${answer.status}): check METABASE_API_KEY and its group`);
  const text = await answer.text();
  if (!answer.ok) throw new Refusal(`Metabase answered ${answer.status} to ${method} ${path}: ${text.slice(0, 300)}`);
  try {
    return JSON.parse(text);
  } catch {
    throw new Refusal(`it answered ${method} ${path} with something else than JSON: check METABASE_URL`);
  }
}

async function findDatabase() {
  const answer = await call('GET', 'api/database');
  const databases = answer.data ?? answer;
  const found = databases.find(({ name }) => name === databaseName);
  const names = databases.map(({ name }) => name).join(', ');
  if (!found)
    throw new Refusal(
      `Metabase has no database ${databaseName}: add it there, or set METABASE_DATABASE to one of ${names}`,
    );
  if (!Object.hasOwn(DIALECTS, found.engine))
    throw new Refusal(
      `the database ${databaseName} is of the kind ${found.engine}: only SQLite and PostgreSQL have queries`,
    );
  return { id: found.id, dialect: DIALECTS[found.engine] };
}

async function findOrMakeCollection(name) {
  const collections = await call('GET', 'api/collection');
  const found = collections.find((each) => each.name === name && each.location === '/' && !each.archived);
  return (found ?? (await call('POST', 'api/collection', { name }))).id;
}

/** The questions and dashboards of a collection, by kind and name. */
async function itemsOf(collectionId) {
  const items = new Map();
  const limit = 200;
  for (let offset = 0; ; offset += limit) {
    const path = `api/collection/${collectionId}/items?models=card&models=dashboard&limit=${limit}&offset=${offset}`;
    const { data } = await call('GET', path);
    for (const { model, name, id } of data) items.set(`${model} ${name}`, id);
    if (data.length < limit) return items;
  }
}

async function putQuestion(question, { database, collectionId, present }) {
  const { name, description, display, visualization_settings, sql } = question;
  const native = { query: sql[database.dialect], 'template-tags': {} };
  const body = {
    name,
    description,
    display,
    visualization_settings,
    collection_id: collectionId,
    dataset_query: { type: 'native', database: database.id, native },
  };
  const id = present.get(`card ${name}`);
  if (id === undefined) return (await call('POST', 'api/card', body)).id;
  await call('PUT', `api/card/${id}`, body);
  return id;
}

/** What stands on the dashboard already stays as it is; only what is missing is added. */
async function putDashboard({ dashboard, places }, { collectionId, present, cards }) {
  const id =
    present.get(`dashboard ${dashboard.name}`) ??
    (await call('POST', 'api/dashboard', { ...dashboard, collection_id: collectionId })).id;
  const { dashcards = [], tabs = [] } = await call('GET', `api/dashboard/${id}`);
  const isThere = ({ question, heading }) =>
    dashcards.some((each) =>
      question === undefined
        ? each.visualization_settings?.text === heading
        : each.card_id === cards.get(question.name),
    );
  const missing = places.filter((place) => !isThere(place));
  if (missing.length === 0) return id;
  const added = missing.map(({ question, heading, ...place }, i) => ({
    ...place,
    // Metabase gives an id to what comes with a negative one.
    id: -1 - i,
    card_id: question === undefined ? null : cards.get(question.name),
    // Where there are tabs, everything has to be in one.
    ...(tabs.length === 0 ? {} : { dashboard_tab_id: tabs[0].id }),
    parameter_mappings: [],
    visualization_settings: question === undefined ? headingOf(heading) : {},
  }));
  await call('PUT', `api/dashboard/${id}`, {
    dashcards: [...dashcards.map(sendable), ...added],
    // Metabase removes tabs that are not sent.
    tabs: tabs.map(({ id, name }) => ({ id, name })),
  });
  return id;
}

const SENDABLE = [
  ...['id', 'card_id', 'action_id', 'dashboard_tab_id', 'row', 'col', 'size_x', 'size_y'],
  ...['parameter_mappings', 'visualization_settings', 'inline_parameters'],
];

/** Metabase answers with more than it takes. */
function sendable(dashcard) {
  const fields = Object.entries(dashcard).filter(([name]) => SENDABLE.includes(name));
  const series = (dashcard.series ?? []).map(({ id }) => ({ id }));
  return { ...Object.fromEntries(fields), series };
}

function headingOf(text) {
  const virtualCard = {
    name: null,
    display: 'heading',
    visualization_settings: {},
    dataset_query: {},
    archived: false,
  };
  return { virtual_card: virtualCard, text };
}

try {
  await main();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(`metabase.mjs: ${key ? error.message.replaceAll(key, '…') : error.message}`);
  process.exitCode = 1;
}
