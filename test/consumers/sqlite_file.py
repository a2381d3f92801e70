"""Reads the mirror file: sqlite_file.py EXPECTED DB TOOL"""

import asyncio
import base64
import sqlite3
import subprocess
import sys
from pathlib import Path

from mirror import Comparison, names

DB, TOOL = sys.argv[2:4]


def read_by_sqlite3():
    connection = sqlite3.connect(f"file:{DB}?mode=ro", uri=True)

    def read(name):
        cursor = connection.execute(f'select * from "{name}"')
        return [column[0] for column in cursor.description], cursor.fetchall()

    Comparison("sqlite3", "mirror file", sqlite3.sqlite_version).read_all(read)


def read_by_duckdb():
    import duckdb
    import duckdb_extensions

    duckdb_extensions.import_extension("sqlite")
    connection = duckdb.connect()
    connection.execute(f"load sqlite; attach '{DB}' as mirror (type sqlite, read_only)")

    def rows_of(sql):
        found = connection.execute(sql)
        return [column[0] for column in found.description], found.fetchall()

    tables = Comparison("duckdb", "tables of the attached mirror file")
    tables.read_all(lambda name: rows_of(f'select * from mirror."{name}"'), names("table"))
    # sqlite_query gives every computed column as text, with 15 digits of a number.
    views = Comparison("duckdb", "views of the mirror file by sqlite_query", digits=15)
    views.read_all(lambda name: rows_of(f"from sqlite_query('mirror', 'select * from {name}')"), names("view"))


def read_by_datasette():
    from datasette.app import Datasette

    async def pages(name):
        path, columns, rows = f"/{Path(DB).stem}/{name}.json?_size=max&_shape=arrays", [], []
        while path:
            page = (await datasette.client.get(path)).json()
            columns, rows, following = page["columns"], rows + page["rows"], page["next_url"]
            path = following and following.removeprefix("http://localhost")
        # Tables without an integer key have their rowid first.
        skipped = 1 if columns[:1] == ["rowid"] else 0
        return columns[skipped:], [row[skipped:] for row in rows]

    datasette = Datasette([DB])
    Comparison("datasette", "mirror file").read_all(lambda name: asyncio.run(pages(name)))


def read_by_jdbc():
    jar = Path(sys.argv[4])
    program = ["java", "-cp", jar, Path(__file__).with_name("Read.java"), DB, *names()]
    printed = subprocess.run(program, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout

    def decoded(line):
        return [None if value == "-" else base64.b64decode(value).decode() for value in line.split(" ")]

    def read(name):
        lines = printed.split(f"= {name}\n")[1].split("\n= ")[0].splitlines()
        if lines[0].startswith("! "):
            raise RuntimeError(decoded(lines[0])[1])
        columns, *rows = [decoded(line) for line in lines]
        return columns, rows

    Comparison("sqlite-jdbc", "mirror file", jar.stem.removeprefix("sqlite-jdbc-")).read_all(read)


globals()[f"read_by_{TOOL}"]()
