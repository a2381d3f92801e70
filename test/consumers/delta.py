"""Reads every version of the tables of a Delta export: delta.py EXPECTED FOLDER VERSIONS

VERSIONS is a JSON file with an object for each export: the path of what the mirror had, and the version of each table.
"""

import json
import sys

import polars
from deltalake import DeltaTable

from mirror import Comparison, load_mirror

FOLDER, VERSIONS = sys.argv[2:4]


def read_by_deltalake(path, version):
    table = DeltaTable(path, version=version).to_pyarrow_table()
    return table.column_names, [list(row.values()) for row in table.to_pylist()]


def read_by_polars(path, version):
    frame = polars.read_delta(path, version=version)
    return frame.columns, frame.rows()


with open(VERSIONS) as versions:
    EXPORTS = json.load(versions)

for tool, read in [("deltalake", read_by_deltalake), ("polars", read_by_polars)]:
    comparison = Comparison(tool, f"Delta tables of {len(EXPORTS)} exports", typed=True)
    for export in EXPORTS:
        comparison.mirror = load_mirror(export["mirror"])
        for name, version in export["versions"].items():
            comparison.read(name, lambda name: read(f"{FOLDER}/{name}", version))
    comparison.report()
