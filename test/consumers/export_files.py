"""Reads an export: export_files.py EXPECTED FOLDER FORMAT READER WHEN"""

import glob
import json
import sys
from pathlib import Path

from mirror import MIRROR, Comparison

FOLDER, FORMAT, READER, WHEN = sys.argv[2:6]

RELATIONS = [table["name"] for table in json.loads(Path(FOLDER, "manifest.json").read_text())["tables"]]
if FORMAT == "ndjson" and READER != "views_sql":
    # Without a row, a file does not say which columns there are.
    RELATIONS = [name for name in RELATIONS if MIRROR[name]["rows"]]


def rows_of(found):
    return [column[0] for column in found.description], found.fetchall()


def by_views_sql():
    import duckdb

    connection = duckdb.connect()
    connection.execute(Path(FOLDER, "views.sql").read_text())
    return lambda name: rows_of(connection.execute(f'from "{name}"'))


def by_duckdb():
    import duckdb

    def read(name):
        text_columns = ", ".join(f"{column['name']}: 'VARCHAR'" for column in MIRROR[name]["columns"])
        options = {
            "parquet": "",
            "csv": ", all_varchar = true, allow_quoted_nulls = false",
            "ndjson": f", columns = {{{text_columns}}}",
        }[FORMAT]
        return rows_of(duckdb.sql(f"from read_{FORMAT}('{FOLDER}/{name}/**/*.{FORMAT}'{options})"))

    return read


def by_polars():
    import polars

    def read(name):
        if FORMAT == "parquet":
            frame = polars.read_parquet(f"{FOLDER}/{name}/")
        else:
            frame = polars.read_csv(f"{FOLDER}/{name}/**/*.csv", infer_schema=False)
        return frame.columns, frame.rows()

    return read


def by_pyarrow():
    from pyarrow import csv, dataset, parquet

    def read(name):
        if FORMAT == "parquet":
            table = parquet.read_table(f"{FOLDER}/{name}")
        else:
            names = [column["name"] for column in MIRROR[name]["columns"]]
            parsing = csv.ParseOptions(newlines_in_values=True)
            converting = csv.ConvertOptions(
                column_types={column: "string" for column in names},
                strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""])  # fmt: skip
            text = dataset.CsvFileFormat(parse_options=parsing, convert_options=converting)
            table = dataset.dataset(f"{FOLDER}/{name}", format=text).to_table()
        return table.column_names, [list(row.values()) for row in table.to_pylist()]

    return read


def by_pandas():
    import pandas

    def read(name):
        paths = glob.glob(f"{FOLDER}/{name}/**/*.{FORMAT}", recursive=True)
        if FORMAT == "parquet":
            frame = pandas.read_parquet(f"{FOLDER}/{name}")
        elif FORMAT == "csv":
            frame = pandas.concat(pandas.read_csv(path, dtype=str, keep_default_na=False) for path in paths)
        else:
            frame = pandas.concat(pandas.read_json(path, lines=True, dtype=False, precise_float=True) for path in paths)
        return list(frame.columns), frame.astype(object).values.tolist()

    return read


def by_chdb():
    import chdb

    def read(name):
        query = f"select * from file('{FOLDER}/{name}/**/*.parquet', Parquet)"
        table = chdb.query(query, "ArrowTable")
        return table.column_names, [list(row.values()) for row in table.to_pylist()]

    return read


TOOL = "duckdb" if READER == "views_sql" else READER
WHAT = f"{FORMAT} export by {'views.sql' if READER == 'views_sql' else 'folder'}, {WHEN}"
comparison = Comparison(
    TOOL,
    WHAT,
    # pandas makes real numbers of integers with NULL, and reads NULL and "" of CSV as the same.
    typed=FORMAT == "parquet" and TOOL != "pandas",
    null_as_empty=(TOOL, FORMAT) == ("pandas", "csv"),
    json_by_value=FORMAT == "ndjson",
)
comparison.read_all(globals()[f"by_{READER}"](), RELATIONS)
