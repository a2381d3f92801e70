export const EXPORT_FORMATS = ['parquet', 'csv', 'ndjson', 'delta'] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** The file extension of an export's data files: a Delta table consists of Parquet files and a log. */
export const extensionOf = (format: ExportFormat): string => (format === 'delta' ? 'parquet' : format);
