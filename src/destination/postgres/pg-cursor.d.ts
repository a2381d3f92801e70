/** What is used of the package, which has no types of its own. */
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
    /** The next rows; the result knows the columns. There is none once all rows were read. */
    read(rows: number, done: (error: Error | null, rows: Row[], result?: CursorResult) => void): void;
    close(): Promise<void>;
  }
}
