"""Reads an export in object storage: object_storage.py EXPECTED PARQUET DELTA WHEN. AWS_… says where it is."""

import os
import sys

from mirror import Comparison

PARQUET, DELTA, WHEN = sys.argv[2:5]


def by_polars(name):
    import polars

    frame = polars.read_parquet(f"{PARQUET}/{name}/")
    return frame.columns, frame.rows()


def by_pyarrow(name):
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(f"{PARQUET}/{name}")
    return table.column_names, [list(row.values()) for row in table.to_pylist()]


def by_deltalake(name):
    from deltalake import DeltaTable

    table = DeltaTable(f"{DELTA}/{name}").to_pyarrow_table()
    return table.column_names, [list(row.values()) for row in table.to_pylist()]


def duckdb_on(location):
    """A connection with the views of an export."""
    import duckdb
    import duckdb_extensions

    duckdb_extensions.import_extension("httpfs")
    connection = duckdb.connect()
    connection.execute("load httpfs")
    endpoint = os.environ["AWS_ENDPOINT_URL"].removeprefix("http://")
    connection.execute(f"set s3_endpoint = '{endpoint}'; set s3_use_ssl = false; set s3_url_style = 'path'")
    connection.execute(connection.execute("select content from read_text($1)", [f"{location}/views.sql"]).fetchone()[0])
    return connection


def by_views_sql(location):
    connection = duckdb_on(location)

    def read(name):
        found = connection.execute(f'from "{name}"')
        return [column[0] for column in found.description], found.fetchall()

    return read


for tool, what, read in (
    ("polars", "parquet export by folder", by_polars),
    ("pyarrow", "parquet export by folder", by_pyarrow),
    ("deltalake", "Delta tables", by_deltalake),
    ("duckdb", "parquet export by views.sql", by_views_sql(PARQUET)),
    ("duckdb", "Delta tables by views.sql", by_views_sql(DELTA)),
):
    Comparison(tool, f"{what} in S3, {WHEN}", typed=True).read_all(read)
