import { SCHEMA } from './both-mirrors.ts';
import { contentOf, filesOf } from './setup.ts';

/** What a reader chose on a dashboard. Times are instants; Metabase takes their UTC days. */
export interface Choice {
  readonly environment?: string;
  readonly owner?: string;
  readonly tag?: string;
  readonly schema?: string;
  readonly from?: string;
  readonly to?: string;
}

const FILTER_NAMES = ['environment', 'owner', 'tag', 'schema'] as const;

export type Database = 'sqlite' | 'postgresql';

/** Where the files expect the mirror of each kind. */
const MIRRORS: Readonly<Record<Database, string>> = {
  sqlite: '/data/obsync.db',
  postgresql: `postgres://bi@db.example.com/warehouse?schema=${SCHEMA}`,
};

/** The queries of a tool's charts by title, as the tool sends them. */
export type ToolQueries = (database: Database, choice: Choice) => Map<string, string>;

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

interface GrafanaTarget {
  readonly rawQueryText?: string;
  readonly rawSql?: string;
}

export interface GrafanaPanel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource: { readonly type: string; readonly uid: string };
  readonly targets: readonly (GrafanaTarget & { readonly timeColumns?: readonly string[] })[];
  readonly fieldConfig: {
    readonly defaults: Readonly<Record<string, unknown>>;
    readonly overrides: readonly {
      readonly matcher: { readonly id: string; readonly options: string };
      readonly properties: readonly { readonly id: string; readonly value: unknown }[];
    }[];
  };
  readonly options: Readonly<Record<string, unknown>>;
  readonly panels?: readonly GrafanaPanel[];
}

/** The dashboard for Grafana over a mirror of this kind. */
export const GRAFANA_DASHBOARDS = {
  sqlite: dashboardOver(MIRRORS.sqlite),
  postgresql: dashboardOver(MIRRORS.postgresql),
};

function dashboardOver(db: string) {
  return contentOf(filesOf('grafana', { db }).get('dashboards/obsync.json'));
}

/** Every panel with a chart, those of collapsed rows too. */
export const chartPanels = (panels: readonly GrafanaPanel[]): GrafanaPanel[] =>
  panels.flatMap((panel) => (panel.type === 'row' ? chartPanels(panel.panels ?? []) : [panel]));

/** Grafana writes the value for "All" as it is, quotes others, and has the last 90 days without a choice. */
export const grafanaQueries: ToolQueries = (database, choice) => {
  const { templating, panels } = GRAFANA_DASHBOARDS[database];
  const allOf = (name: string): string => templating.list.find((each: { name: string }) => each.name === name).allValue;
  const { from = new Date(Date.now() - 90 * 86_400_000).toISOString(), to = new Date().toISOString() } = choice;
  const values: Readonly<Record<string, string>> = {
    ...Object.fromEntries(
      FILTER_NAMES.map((name) => {
        const chosen = choice[name];
        return [`${name}:sqlstring`, chosen === undefined ? allOf(name) : quoted(chosen)];
      }),
    ),
    '__from:date:iso': from,
    '__to:date:iso': to,
  };
  return new Map(
    chartPanels(panels).map(({ title, targets: [target] }) => {
      const sql = target?.rawQueryText ?? target?.rawSql ?? '';
      return [title, sql.replaceAll(/\$\{([^}]+)\}/g, (_, name) => values[name] ?? `no value for ${name}`)];
    }),
  );
};

export interface MetabaseQuestion {
  readonly name: string;
  readonly description: string;
  readonly display: string;
  readonly visualization_settings: Readonly<Record<string, unknown>>;
  readonly template_tags: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly sql: { readonly sqlite: string; readonly postgres: string };
}

interface MetabasePlace {
  readonly question?: MetabaseQuestion;
  readonly visualization_settings?: Readonly<Record<string, unknown>>;
}

interface MetabaseInput {
  readonly dashboard: { readonly name: string };
  readonly tabs: readonly { readonly name: string; readonly places: readonly MetabasePlace[] }[];
  readonly parameters: readonly { readonly choices?: { readonly question: MetabaseQuestion } }[];
}

/** The input of the script for Metabase. */
export const METABASE_INPUT: MetabaseInput = contentOf(
  filesOf('metabase', { db: MIRRORS.postgresql }).get('metabase.json'),
);

/** The questions on the dashboard. */
export const METABASE_QUESTIONS: readonly MetabaseQuestion[] = METABASE_INPUT.tabs.flatMap(({ places }) =>
  places.flatMap(({ question }) => question ?? []),
);

/** Metabase leaves out what is in brackets if a tag in them has no value, and passes a date as its database's type. */
export const metabaseQueries: ToolQueries = (database, choice) => {
  const date = (instant: string | undefined): string | undefined =>
    instant && `${database === 'postgresql' ? 'date ' : ''}'${instant.slice(0, 10)}'`;
  const values: Readonly<Record<string, string | undefined>> = {
    ...Object.fromEntries(FILTER_NAMES.map((name) => [name, choice[name] && quoted(choice[name])])),
    from: date(choice.from),
    to: date(choice.to),
  };
  const written = (sql: string): string =>
    sql.replaceAll(/\[\[(.*?)\]\]/g, (_, part: string) => {
      const name = /\{\{(\w+)\}\}/.exec(part)?.[1] ?? '';
      return values[name] === undefined ? '' : part.replace(`{{${name}}}`, values[name]);
    });
  return new Map(
    METABASE_QUESTIONS.map(({ name, sql }) => [name, written(database === 'sqlite' ? sql.sqlite : sql.postgres)]),
  );
};
