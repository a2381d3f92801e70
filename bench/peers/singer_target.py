"""Singer: a target for SQLite on the SDK's SQLSink, because none on PyPI is current.

Lists without feeds are replaced.
"""

import json
from decimal import Decimal

from singer_sdk import typing as th
from singer_sdk.sql import SQLConnector, SQLSink, SQLTarget

from lists import FOLDER, SNAPSHOTS


class SQLiteConnector(SQLConnector):
    allow_merge_upsert = True
    allow_overwrite = True

    def get_sqlalchemy_url(self, config):
        return f"sqlite:///{FOLDER}/singer.db"


class SQLiteSink(SQLSink):
    connector_class = SQLiteConnector
    max_size = 10_000

    @property
    def schema_name(self):
        return None

    def generate_insert_statement(self, full_table_name, schema):
        return super().generate_insert_statement(full_table_name, schema).prefix_with("OR REPLACE")

    def preprocess_record(self, record, context):
        return {name: plain(value) for name, value in record.items()}


def plain(value):
    """What SQLite can store: the SDK passes numbers as Decimal, and lists and objects as they are."""
    if isinstance(value, (list, dict)):
        return json.dumps(value, default=float)
    return float(value) if isinstance(value, Decimal) else value


class ReplacingSink(SQLiteSink):
    def setup(self):
        self.connector.config["load_method"] = "overwrite"
        super().setup()
        self.connector.config["load_method"] = "upsert"


class TargetSQLite(SQLTarget):
    name = "target-sqlite"
    default_sink_class = SQLiteSink
    config_jsonschema = th.PropertiesList().to_dict()

    def get_sink_class(self, stream_name):
        return ReplacingSink if stream_name in SNAPSHOTS else SQLiteSink


if __name__ == "__main__":
    TargetSQLite.cli()
