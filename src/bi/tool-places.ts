/** Where a tool finds the mirror; the path of a file is absolute. */
export type MirrorLocation =
  | { readonly kind: 'file'; readonly path: string }
  | {
      readonly kind: 'postgres';
      readonly schema: string;
      /** `postgres://user@host:port/database?schema=name`, without a password. */
      readonly display: string;
      /** As libpq has it; missing if it is left to the tool. */
      readonly sslmode?: string;
    };

/** The schema of the mirror's views. SQLite calls that of an opened file `main`. */
export const mirrorSchema = (mirror: MirrorLocation): string => (mirror.kind === 'file' ? 'main' : mirror.schema);

/** The other inputs of a tool's files. */
export interface ToolPlaces {
  readonly mirror: MirrorLocation;
  /** The page that `obsync serve` shows, for links; null without. */
  readonly pageUrl: string | null;
  /** The absolute path of the target folder. */
  readonly to: string;
  /** Whether dbt gets models and metrics of its semantic layer too. */
  readonly semantic: boolean;
  /** A file that the package ships as it is. */
  readonly shipped: (name: string) => string;
}
