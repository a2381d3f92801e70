"""Reads a mirror in PostgreSQL: postgresql.py EXPECTED SERVER SCHEMA TOOL"""

import sys

from mirror import MIRROR, Comparison

SERVER, SCHEMA, TOOL = sys.argv[2:5]

TYPES = {
    "text": "TEXT",
    "integer": "BIGINT",
    "real": "DOUBLE PRECISION",
    "time": "TIMESTAMP",
    "day": "DATE",
    "flag": "BOOLEAN",
    "json": "JSON",
}


def by_psycopg():
    import psycopg

    connection = psycopg.connect(SERVER, options="-c timezone=UTC")

    def read(name):
        found = connection.execute(f'select * from {SCHEMA}."{name}"')
        return [column.name for column in found.description], found.fetchall()

    return read


def by_sqlalchemy():
    import sqlalchemy

    address = SERVER.replace("postgres://", "postgresql+psycopg://")
    engine = sqlalchemy.create_engine(address, connect_args={"options": "-c timezone=UTC"})

    def read(name):
        table = sqlalchemy.Table(name, sqlalchemy.MetaData(), schema=SCHEMA, autoload_with=engine)
        expect_description(table)
        with engine.connect() as connection:
            return table.columns.keys(), connection.execute(table.select()).fetchall()

    return read


def expect_description(table):
    """The table has the types, the key and the comments that the dictionary has."""
    expected = MIRROR[table.name]
    types = {column.name: str(column.type).split(" ")[0] for column in table.columns}
    expect("types", types, {each["name"]: TYPES[each["kind"]].split(" ")[0] for each in expected["columns"]})
    if expected["kind"] == "table":
        expect("key", [column.name for column in table.primary_key], expected["key"])
    expect("comment", table.comment, expected["description"])
    comments = {column.name: column.comment for column in table.columns}
    expect("comments", comments, {each["name"]: each["description"] for each in expected["columns"]})


def expect(what, found, expected):
    if found != expected:
        raise ValueError(f"{what} {found} instead of {expected}")


# Each database sums in its own order, so the last digits of means differ.
comparison = Comparison(TOOL, "mirror in PostgreSQL", typed=True, digits=14, json_by_value=True)
comparison.read_all(globals()[f"by_{TOOL}"]())
