"""Prints every list of the API: a line of JSON for each item that the client of openapi-python-client reads."""

import json
import os
from importlib import import_module

from mirror_api import AuthenticatedClient

client = AuthenticatedClient(os.environ["URL"], token=os.environ["OBSYNC_SERVE_TOKEN"])

LISTS = {
    "assets": "assets.list_assets",
    "table_assets": "assets.list_table_assets",
    "bi_assets": "assets.list_bi_assets",
    "columns": "columns.list_columns",
    "tests": "tests.list_tests",
    "asset_lineage": "asset_lineage.list_asset_lineage_edges",
    "column_lineage": "column_lineage.list_column_lineage_edges",
    "latest_test_executions": "latest_test_executions.list_latest_test_executions",
    "asset_health_scores": "asset_health_scores.list_asset_health_scores",
}


def call(operation, *args, **parameters):
    return import_module(f"mirror_api.api.{operation}").sync(*args, client=client, **parameters)


def read(name, operation, *args):
    """Prints the items of a list. @returns their ids"""
    ids, cursor = [], ""
    while cursor is not None:
        page = call(operation, *args, limit=7, cursor=cursor)
        for item in page.items:
            write(name, args[0], item)
            ids.append(getattr(item, "id", None))
        cursor = page.next_cursor
    return ids


def write(name, env_id, item):
    print(json.dumps({"list": name, "env_id": env_id, "item": item.to_dict()}))


for environment in call("environments.list_environments"):
    write("environments", environment.id, environment)
    ids = {name: read(name, operation, environment.id) for name, operation in LISTS.items()}
    for asset_id in ids["assets"]:
        write("asset", environment.id, call("assets.get_asset", environment.id, asset_id))
    for test_id in ids["tests"]:
        read("test_executions", "test_executions.list_test_executions", environment.id, test_id)
