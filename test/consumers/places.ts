import { join } from 'node:path';

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/consumers');

export const VENV = join(CACHE, 'venv');
export const JARS = join(CACHE, 'jars');

/** The SQLite of RHEL 9 and Debian 11, and the current one. */
export const JDBC_VERSIONS = ['3.34.0', '3.54.1.0'] as const;

export const jarOf = (version: string): string => join(JARS, `sqlite-jdbc-${version}.jar`);
