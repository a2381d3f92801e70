import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { writeFiles } from '../bi/write-files.ts';
import { type SyncError, translateErrors, usageError } from '../core/errors.ts';
import type { Instant } from '../core/time/instant.ts';
import type { MirrorFile } from '../destination/sqlite/open.ts';
import { refuseNoParent } from '../export/export-files.ts';
import { environmentsOf } from '../export/mirror-scope.ts';
import { type RecordedPage, recordAnswers } from '../page-data/record-answers.ts';
import { builtPage } from '../server/built-page.ts';
import { openMirrorReads } from '../server/mirror-reads.ts';
import { givenAddress } from '../settings/addresses/mirror-address.ts';
import { checkOptions } from '../settings/check-options.ts';
import { OptionError, readNumber, readOption, requireText } from '../settings/option-error.ts';
import type { OptionsNamed } from '../settings/options.ts';
import { openStore } from './open-store.ts';
import { readMirror } from './read-mirror.ts';

export interface ReportOptions extends OptionsNamed<'db' | 'dbFile' | 'replica' | 'env' | 'maxFailing'> {
  /** The file to write, such as `report.html`. */
  readonly to: string;
}

export interface PageReport {
  readonly to: string;
  /** The mirror's instant that the report shows. */
  readonly instant: Instant;
  /** Up to when all of these environments are mirrored; null if one was never mirrored to the end. */
  readonly complete_at: Instant | null;
  /** Names of the environments in it. */
  readonly environments: readonly string[];
  readonly bytes: number;
  /** Rows of `failing_tests` in these environments. */
  readonly failing_count: number;
  /** False if more tests fail than `maxFailing` allows. */
  readonly passed: boolean;
}

/** Mail servers and browsers accept files up to this size; a larger report is refused. */
const MAX_BYTES = 5_000_000;

/** Writes the page, as of one instant, as a file that needs no server. @throws SyncError `usage` if it is too large */
export async function writeReport(options: ReportOptions): Promise<PageReport> {
  checkOptions(options);
  const place = resolveTarget(options.to);
  const { html, report } = await makeReport(options);
  writeFiles(dirname(place), [{ path: basename(place), bytes: html }]);
  return report;
}

export async function makeReport(
  options: ReportOptions,
): Promise<{ readonly html: Buffer; readonly report: PageReport }> {
  checkOptions(options);
  const { to, env = [], replica } = options;
  const store = await openStore(givenAddress(options));
  const maxFailing = options.maxFailing === undefined ? null : readNumber('maxFailing', options.maxFailing);
  const recorded = readMirror(store, (mirror) => recordMirror(mirror, env), { replica });
  const { now, complete_at, environments, failing_count, answers } = await translateErrors(recorded, store.explain);
  if (environments.length === 0)
    throw usageError(
      `${store.display} lists none of these environments: run \`obsync sync\` first, or choose others with --env`,
    );
  const html = Buffer.from(fillTemplate({ answers, madeAt: new Date().toISOString() }));
  if (html.length > MAX_BYTES) throw tooLarge(html.length, environments.length);
  const passed = maxFailing === null || failing_count <= maxFailing;
  return { html, report: { to, instant: now, complete_at, environments, bytes: html.length, failing_count, passed } };
}

/** The file to write; of a symbolic link, its target. @throws OptionError */
function resolveTarget(given: string): string {
  const to = requireText('to', given, 'no file to write to: name one with --to');
  readOption('to', () => refuseNoParent(to, 'file'));
  if (!existsSync(to)) return resolve(to);
  if (statSync(to).isFile()) return realpathSync(to);
  throw new OptionError('to', `${to} is not a file: name a file with --to, such as report.html`);
}

function recordMirror(mirror: MirrorFile, asked: readonly string[]): RecordedPage {
  return openMirrorReads(mirror).read((view) => {
    const environments =
      asked.length === 0 ? null : new Set(environmentsOf(mirror.connection, asked).map(({ env_id }) => env_id));
    return recordAnswers(view, environments, view.serverTime);
  });
}

function fillTemplate({ answers, madeAt }: Pick<RecordedPage, 'answers'> & { readonly madeAt: string }): string {
  const packed = deflateRawSync(JSON.stringify(answers), { level: 9 }).toString('base64');
  return readFileSync(join(dirname(builtPage()), 'report.html'), 'utf8')
    .replace('{{madeAt}}', madeAt)
    .replace('{{answers}}', packed);
}

function tooLarge(bytes: number, environments: number): SyncError {
  const size = (bytes / 1e6).toFixed(1);
  const advice =
    environments > 1
      ? 'choose fewer environments with --env, or look at them with `obsync serve`'
      : 'look at it with `obsync serve`';
  return usageError(`the report would have ${size} MB, more than the limit of 5 MB: ${advice}`);
}
