/** The part of the package that is used; it has no types of its own. */
declare module 'pg-cursor' {
  import type { Connection, CustomTypesConfig, FieldDef, Submittable } from 'pg';

  interface CursorResult {
    readonly fields: readonly FieldDef[];
  }

  export default class Cursor<Row> implements Submittable {
    constructor(
      text: string,
      values: readonly unknown[],
      config: { readonly rowMode: 'array'; readonly types: CustomTypesConfig },
    );
    submit(connection: Connection): void;
    /** The next rows; `result` has the columns. No rows means that all have been read. */
    read(rows: number, done: (error: Error | null, rows: Row[], result?: CursorResult) => void): void;
    close(): Promise<void>;
  }
}
