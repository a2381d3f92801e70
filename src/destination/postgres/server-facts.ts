import { closeAfter } from '../../core/close-after.ts';
import type { PostgresAddress } from './address.ts';
import { openConnection } from './open-connection.ts';

/** A server, and what its user may do in the mirror's schema. @throws SyncError */
export async function serverFacts(address: PostgresAddress) {
  const { schema } = address;
  return closeAfter(await openConnection(address), async (connection) => {
    const { rows } = await connection.query(FACTS, [schema]);
    const { version, encoding, user, in_schema, in_database } = rows[0] ?? {};
    const isSchemaThere = in_schema !== null;
    /** Whether the user may create tables in the schema or, if it is missing, the schema. */
    const mayCreate = Boolean(isSchemaThere ? in_schema : in_database);
    return {
      version: String(version),
      encoding: String(encoding),
      user: String(user),
      schema,
      isSchemaThere,
      mayCreate,
    };
  });
}

const FACTS = `select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
  current_user as user, has_database_privilege(current_database(), 'CREATE')::int as in_database,
  (select (has_schema_privilege(oid, 'CREATE') and has_schema_privilege(oid, 'USAGE'))::int from pg_namespace where nspname = $1) as in_schema`;
