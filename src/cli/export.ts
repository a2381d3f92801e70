import { type ExportOptions, exportMirror } from '../api/export.ts';
import type { ExportReport } from '../api/export-mirror.ts';
import { counted } from '../core/counted.ts';
import { logSettings } from './command.ts';
import { libraryOptions } from './library-options.ts';
import { printReport } from './print.ts';
import { type FittingColumn, renderFitting } from './rows-view.ts';
import { untilSignal } from './signals.ts';
import { sizeText } from './words.ts';

const CUT_OFF = 'a long read: the last complete export is unchanged';

export const exportCommand = untilSignal(CUT_OFF, async (args, io, { signal }) => {
  const log = await io.log(logSettings(args));
  io.limitHeap();
  const report = await exportMirror({
    ...libraryOptions<ExportOptions>(args),
    signal,
    onProgress: ({ table, rows }) => log.info(`${table}: ${counted(rows, 'row')} exported`),
  });
  for (const warning of report.warnings) log.warn(warning);
  printReport(report, args, io, renderExport, report.warnings.length === 0);
  return 0;
});

function renderExport(report: ExportReport, width: number | null): string {
  const { to, format, instant, rows, files, files_written, bytes_written, files_removed } = report;
  const removed = files_removed === 0 ? '' : `, ${counted(files_removed, 'old file')} removed`;
  return [
    `${to} contains the mirror as of ${instant} as ${format}: ${counted(rows, 'row')} in ${counted(files, 'file')}, ${sizeText(report.bytes)}`,
    renderFitting(
      COLUMNS,
      report.tables.filter((table) => table.rows > 0),
      width,
    ),
    `${counted(files_written, 'file')} written (${sizeText(bytes_written)})${removed}`,
    ...droppedLine(report),
    ...report.notes,
    '',
  ].join('\n');
}

/** Whoever requests less than before may not know that the folder contained more. */
function droppedLine({ dropped_tables, dropped_environments, dropped_files }: ExportReport): string[] {
  const listed = (names: readonly string[], noun: string): string[] =>
    names.length === 0 ? [] : [`${counted(names.length, noun)} (${names.join(', ')})`];
  const parts = [...listed(dropped_tables, 'table'), ...listed(dropped_environments, 'environment')];
  if (parts.length === 0) return [];
  return [`No longer exported: ${parts.join(' and ')}, with ${counted(dropped_files, 'file')}`];
}

const COLUMNS: readonly FittingColumn<ExportReport['tables'][number]>[] = [
  { head: 'table', cell: ({ table }) => table },
  { head: 'rows', cell: ({ rows }) => rows },
  { head: 'files', cell: ({ files }) => files },
  { head: 'size', cell: ({ bytes }) => sizeText(bytes) },
  { head: 'written', cell: ({ files_written }) => files_written },
  { head: 'size written', cell: ({ bytes_written }) => sizeText(bytes_written) },
];
