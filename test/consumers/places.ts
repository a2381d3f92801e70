import { join } from 'node:path';

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/consumers');

export const VENV = join(CACHE, 'venv');

/** Superset's own pins exclude those of the other programs. */
export const SUPERSET_VENV = join(CACHE, 'superset-6.1.0');
export const SUPERSET = join(SUPERSET_VENV, 'bin/superset');
export const JARS = join(CACHE, 'jars');

/** The SQLite of RHEL 9 and Debian 11, and the current one. */
export const JDBC_VERSIONS = ['3.34.0', '3.54.1.0'] as const;

export const jarOf = (version: string): string => join(JARS, `sqlite-jdbc-${version}.jar`);

/** The versions of the generators of clients; that of openapi-python-client is in `requirements.txt`. */
export const GENERATORS = {
  'openapi-generator': '7.25.0',
  'oapi-codegen': '2.8.2',
  'oapi-codegen/runtime': '1.9.0',
  'openapi-typescript': '7.13.0',
  'openapi-fetch': '0.17.0',
  typescript: '5.9.3',
} as const;

export const GENERATOR_JAR = join(JARS, `openapi-generator-cli-${GENERATORS['openapi-generator']}.jar`);

/** A client in Java, built when the tools were installed, so Maven has all that it needs to build another. */
export const JAVA_CLIENT = join(CACHE, `java-client-${GENERATORS['openapi-generator']}`);

/** A project in Go, with the modules that a client of oapi-codegen needs. */
export const GO_PROJECT = join(CACHE, 'go-project');
export const GO_MODULES = join(CACHE, 'go-modules');
export const GO_PROGRAMS = join(CACHE, 'go-programs');
export const NPM_PROJECT = join(CACHE, 'npm-project');

/** Debian's package, unpacked. It has the version of the Debian release, as a server has it. */
export const DEBIAN = join(CACHE, 'debian');
export const DEBIAN_PROGRAMS = join(DEBIAN, 'usr/bin');

/** Debian's own can't be unpacked elsewhere, and `go install` can't build 0.35: its module lacks the built page. */
export const ALERTMANAGER_VERSION = '0.28.1';
export const ALERTMANAGER_PROGRAMS = join(CACHE, `alertmanager-${ALERTMANAGER_VERSION}`);

/** A server of the S3 API over a folder. */
export const VERSITYGW_VERSION = '1.8.0';
export const VERSITYGW_PROGRAMS = join(CACHE, `versitygw-${VERSITYGW_VERSION}`);
export const VERSITYGW = join(VERSITYGW_PROGRAMS, 'versitygw');

/** Replicates an SQLite file while it is written. */
export const LITESTREAM_VERSION = '0.5.18';
export const LITESTREAM_PROGRAMS = join(CACHE, `litestream-${LITESTREAM_VERSION}`);
export const LITESTREAM = join(LITESTREAM_PROGRAMS, 'litestream');

/** Delta Lake, for the Spark of `requirements.txt`. */
const DELTA_VERSION = '4.4.0';
const DELTA_NAMES = ['delta-spark_4.2_2.13', 'delta-storage'];
export const DELTA_ARTIFACTS = DELTA_NAMES.map((name) => `io.delta:${name}:${DELTA_VERSION}`);
export const DELTA_JARS = DELTA_NAMES.map((name) => join(JARS, `${name}-${DELTA_VERSION}.jar`));
