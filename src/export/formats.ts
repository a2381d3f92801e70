export const EXPORT_FORMATS = ['parquet', 'csv', 'ndjson'] as const;

export type ExportFormat = (typeof EXPORT_FORMATS)[number];
