"""Compares what a client reads of `obsync serve` with the mirror: served_api.py EXPECTED DESCRIPTION TOOL VERSION ITEMS

DESCRIPTION is the OpenAPI document. ITEMS has a line of JSON for each item, as the programs in clients/ print it: the
list, the environment and the item.
"""

import json
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path

from mirror import MIRROR, Comparison

DESCRIPTION, TOOL, VERSION, ITEMS = sys.argv[2:]
SCHEMAS = json.loads(Path(DESCRIPTION).read_text("utf-8"))["components"]["schemas"]

ITEM_SCHEMAS = {
    "environments": "Environment",
    "assets": "Asset",
    "table_assets": "TableAsset",
    "bi_assets": "BiAsset",
    "columns": "Column",
    "tests": "Test",
    "asset_lineage": "AssetLineageEdge",
    "column_lineage": "ColumnLineageEdge",
    "latest_test_executions": "TestExecution",
    "asset_health_scores": "AssetHealthScore",
    "test_executions": "TestExecution",
    "asset": "Asset",
}


def rows_of(name):
    columns = [column["name"] for column in MIRROR[name]["columns"]]
    return [dict(zip(columns, row, strict=True)) for row in MIRROR[name]["rows"]]


def live_rows_of(name):
    """Rows of a feed: the API serves the mirror's own time as `synced_at`."""
    return [row | {"synced_at": row["mirrored_at"]} for row in rows_of(name) if row["deleted_at"] is None]


def expected_rows():
    """The rows of each list. A list shows what the mirror has of live objects."""
    live = {name: {(row["env_id"], row["id"]) for row in live_rows_of(name)} for name in ("assets", "columns")}
    assets = live_rows_of("assets")
    tests = [row for row in live_rows_of("tests") if row["disabled"] == 0]
    shown = {(row["env_id"], row["id"]) for row in tests}
    hidden = {(row["env_id"], row["id"]) for row in rows_of("tests") if row["disabled"] == 1 or row["deleted_at"]}

    def complete(kind, schema):
        required = SCHEMAS[schema]["required"]
        return [row for row in assets if row["kind"] == kind and None not in map(row.get, required)]

    def edges(name, ends):
        kept = [column for column in rows_of(name)[0] if column.endswith("_id") and column != "env_id"]
        return [row for row in rows_of(name) if all((row["env_id"], row[column]) in live[ends] for column in kept)]

    def executions(name):
        return [row | {"description": row["description"] or None} for row in rows_of(name)]

    def score(row):
        return {name: row[name] for name in ("score", "test_count", "bucket_at")}

    def with_dimensions(row):
        key = (row["env_id"], row["asset_id"])
        parts = [each for each in rows_of("asset_health_score_dimensions") if (each["env_id"], each["asset_id"]) == key]
        nested = [{"dimension": each["dimension"], **score(each)} for each in parts]
        return row | {"total": score(row), "dimensions": nested}

    tables = {(row["env_id"], row["id"]) for row in assets if row["kind"] == "table"}
    scores = [row for row in rows_of("asset_health_scores") if (row["env_id"], row["asset_id"]) in tables]
    newest = max(row["mirrored_at"] for row in rows_of("mirror_environments"))
    month_ago = (datetime.fromisoformat(newest) - timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    yield "environments", [row | {"env_id": row["id"]} for row in rows_of("environments")]
    yield "assets", assets
    yield "table_assets", complete("table", "TableAsset")
    yield "bi_assets", complete("bi", "BiAsset")
    yield "columns", live_rows_of("columns")
    yield "tests", tests
    yield "asset_lineage", edges("asset_lineage", "assets")
    yield "column_lineage", edges("column_lineage", "columns")
    latest = executions("latest_test_executions")
    yield "latest_test_executions", [row for row in latest if (row["env_id"], row["test_id"]) not in hidden]
    yield "asset_health_scores", [with_dimensions(row) for row in scores]
    ran = [row for row in executions("test_executions") if row["start_time"] >= month_ago]
    yield "test_executions", [row for row in ran if (row["env_id"], row["test_id"]) in shown]
    yield "asset", assets


def canonical(value, schema):
    """A value of the mirror or of a client, in the same form."""
    schema = SCHEMAS[schema["$ref"].split("/")[-1]] if "$ref" in schema else schema
    types = schema.get("type", [])
    is_list, is_object = "array" in types, "object" in types
    if is_list or is_object:
        value = json.loads(value) if isinstance(value, str) else value
        # A client may read an empty one if it was left out.
        value = ([] if is_list else {}) if value is None else value
    if isinstance(value, list):
        return [canonical(each, schema.get("items", {})) for each in value]
    if isinstance(value, dict):
        members = schema.get("properties", {})
        return {name: canonical(member, members.get(name, {})) for name, member in value.items()}
    if schema.get("format") == "date-time" and value is not None:
        return datetime.fromisoformat(value).isoformat(timespec="microseconds")
    if "boolean" in types and value is not None:
        return bool(value)
    # JSON has one type of number.
    return float(value) if isinstance(value, int) and "integer" not in types else value


def compare():
    comparison = Comparison(TOOL, "lists of the API", VERSION or None)
    items = defaultdict(list)
    for line in open(ITEMS, encoding="utf-8"):
        each = json.loads(line)
        items[each["list"]].append({"env_id": each["env_id"], **each["item"]})
    for name, rows in expected_rows():
        if name == "asset" and name not in items:
            continue
        described = SCHEMAS[ITEM_SCHEMAS[name]]["properties"]
        members = [member for member in described if member in rows[0]]

        def canonical_item(item):
            values = [canonical(item.get(member), described[member]) for member in members]
            return json.dumps([item["env_id"], *values], sort_keys=True)

        ours, theirs = (sorted(map(canonical_item, found)) for found in (rows, items[name]))
        comparison.note(name, difference(ours, theirs), len(ours))
    comparison.report()


def difference(ours, theirs):
    if len(ours) != len(theirs):
        return f"{len(theirs)} items instead of {len(ours)}"
    return next((f"{found} instead of {row}" for row, found in zip(ours, theirs) if row != found), None)


compare()
