import { readFileSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import type { BiTool } from '../bi/tools.ts';
import { type ToolFile, writeFiles } from '../bi/write-files.ts';
import { closestName } from '../core/closest-name.ts';
import { addressOf, givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { OptionError } from '../settings/option-error.ts';
import { OPTIONS } from '../settings/option-table.ts';
import type { MirrorOptions, OptionsNamed } from '../settings/options.ts';

export interface BiOptions extends MirrorOptions, OptionsNamed<'semantic' | 'pageUrl'> {
  /** `dbt`, `semantic`, `grafana`, `superset`, `metabase`, `datasette` or `prometheus`. */
  readonly tool: BiTool;
  /** The folder of the files. It is created if it does not exist. */
  readonly to: string;
}

/** The files for a tool, and which of them this call wrote. */
export interface BiReport {
  readonly tool: BiTool;
  readonly to: string;
  readonly files: readonly ToolFile[];
}

/**
 * Writes files that describe the mirror to another tool: descriptions, tests, metrics, dashboards, alerts. Needs no
 * mirror; `db` is where the files expect it.
 * @throws SyncError
 */
export async function writeBi(options: BiOptions): Promise<BiReport> {
  checkOptions(options);
  const { to, semantic = false, pageUrl = null } = options;
  const { BI_FILES } = await import('../bi/tools.ts');
  const tool = findTool(options.tool, Object.keys(BI_FILES) as BiTool[]);
  if (typeof to !== 'string' || to === '') throw new OptionError('to', 'no folder to write to: name one with --to');
  if (semantic && tool !== 'dbt')
    throw new OptionError('semantic', `${tool} has no semantic layer: --semantic is for dbt`);
  if (pageUrl !== null) checkPageUrl(pageUrl, tool);
  // The files of other tools do not mention the mirror.
  const address = addressOf(NAME_MIRROR.includes(tool) ? givenAddress(options) : OPTIONS.db.default);
  const places = {
    mirror: address.kind === 'file' ? { ...address, path: resolve(address.path) } : address,
    to: resolve(to),
    semantic,
    pageUrl,
    shipped: (name: string) => readFileSync(join(SHIPPED, name), 'utf8'),
  };
  return { tool, to, files: writeFiles(to, BI_FILES[tool](places)) };
}

/** Nothing else may be in it: lists append the asset, and a password would be in the files. */
function checkPageUrl(pageUrl: string, tool: BiTool): void {
  if (!NAME_MIRROR.includes(tool) || tool === 'semantic')
    throw new OptionError('pageUrl', `the files for ${tool} have no links: leave out --page-url`);
  const { protocol = '', username, password, search, hash } = URL.parse(pageUrl) ?? {};
  if (!/^https?:$/.test(protocol) || [username, password, search, hash].some(Boolean))
    throw new OptionError('pageUrl', 'the address of a page is https://host or https://host/path, without more');
}

/** The folder of the files that the package ships as they are. */
const SHIPPED = join(dirname(findPackageJSON(import.meta.url) ?? ''), 'src', 'bi');

/** The tools whose files say where the mirror is. */
export const NAME_MIRROR: readonly BiTool[] = ['semantic', 'grafana', 'superset', 'metabase', 'datasette'];

function findTool(given: unknown, tools: readonly BiTool[]): BiTool {
  const tool = tools.find((each) => each === given);
  if (tool !== undefined) return tool;
  const choice = `choose one of ${tools.join(', ')}`;
  if (given === undefined) throw new OptionError('tool', `no tool given: ${choice}`);
  const near = closestName(String(given), tools);
  throw new OptionError('tool', `there are no files for ${given}: ${near === null ? choice : `did you mean ${near}?`}`);
}
