"""Singer: a target for SQLite on the SDK's SQLSink, because no current one is on PyPI. Lists without feeds are replaced."""

import json

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
        return {name: json.dumps(value) if isinstance(value, (list, dict)) else value for name, value in record.items()}


class ReplacingSink(SQLiteSink):
    def setup(self):
        self.connector.config["load_method"] = "overwrite"
        super().setup()
        self.connector.config["load_method"] = "upsert"


class TargetSQLite(SQLTarget):
    name = "target-sqlite"
    config_jsonschema = th.PropertiesList().to_dict()

    def get_sink_class(self, stream_name):
        return ReplacingSink if stream_name in SNAPSHOTS else SQLiteSink


if __name__ == "__main__":
    TargetSQLite.cli()
