"""Reads an export in object storage: object_storage.py EXPECTED PARQUET DELTA WHEN. AWS_… says where it is."""

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


for read in by_polars, by_pyarrow, by_deltalake:
    tool = read.__name__.removeprefix("by_")
    kind = "Delta tables" if tool == "deltalake" else "parquet export by folder"
    Comparison(tool, f"{kind} in S3, {WHEN}", typed=True).read_all(read)
