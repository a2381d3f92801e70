"""PyAirbyte: a declarative source into its DuckDB cache. Lists with feeds are incremental, the others are replaced."""

import json
import os
import sys

from lists import FEEDS, FOLDER, OVERLAP_MINUTES, PAGE_ROWS, SERVICE, SNAPSHOTS, TOKEN, live_rows

os.environ["DO_NOT_TRACK"] = os.environ["AIRBYTE_OFFLINE_MODE"] = "1"
os.environ["AIRBYTE_PROJECT_DIR"] = FOLDER

import airbyte as ab  # noqa: E402
import duckdb  # noqa: E402

FORMAT = "%Y-%m-%dT%H:%M:%S.%fZ"


def requester(path, parameters):
    return {
        "type": "HttpRequester",
        "url_base": SERVICE,
        "path": f"/{path}",
        "http_method": "GET",
        "authenticator": {"type": "BearerAuthenticator", "api_token": TOKEN},
        "request_parameters": {"limit": str(PAGE_ROWS), **parameters},
        "error_handler": {
            "type": "DefaultErrorHandler",
            "backoff_strategies": [
                {"type": "WaitTimeFromHeader", "header": "Retry-After"},
                {"type": "ExponentialBackoffStrategy", "factor": 1},
            ],
        },
    }


PAGINATOR = {
    "type": "DefaultPaginator",
    "page_token_option": {"type": "RequestOption", "inject_into": "request_parameter", "field_name": "cursor"},
    "pagination_strategy": {
        "type": "CursorPagination",
        "cursor_value": "{{ response.next_cursor }}",
        "stop_condition": "{{ not response.has_more }}",
    },
}


def stream(name, path, fields, key=None, parameters=None, cursor=None):
    properties = {field: {"type": ["null", *kinds.split()]} for field, kinds in fields.items()}
    return {
        "type": "DeclarativeStream",
        "name": name,
        **({"primary_key": key} if key else {}),
        **({"incremental_sync": cursor} if cursor else {}),
        "retriever": {
            "type": "SimpleRetriever",
            "requester": requester(path, parameters or {}),
            "record_selector": {"type": "RecordSelector", "extractor": {"type": "DpathExtractor", "field_path": ["items"]}},
            "paginator": PAGINATOR,
        },
        "schema_loader": {
            "type": "InlineSchemaLoader",
            "schema": {"type": "object", "additionalProperties": True, "properties": properties},
        },
    }


def feed(name, path, kind):
    """The first run asks for the whole list, which a feed can't return: it reaches back 90 days."""
    start = "{{ stream_interval.start_time }}"
    if kind == "synced":
        start = "{{ stream_interval.start_time if stream_interval.start_time > '2000-01-02' else '' }}"
    cursor = {
        "type": "DatetimeBasedCursor",
        "cursor_field": f"{kind}_at",
        "datetime_format": FORMAT,
        "start_datetime": {"type": "MinMaxDatetime", "datetime": "2000-01-01T00:00:00.000000Z", "datetime_format": FORMAT},
        "lookback_window": f"PT{OVERLAP_MINUTES}M",
    }
    table = name if kind == "synced" else f"{name}_deleted"
    return stream(table, path, {**FIELDS[name], f"{kind}_at": "string"}, "id", {f"{kind}_since": start}, cursor)


TEXT = "string"
FIELDS = {
    "assets": {"id": TEXT, "name": TEXT, "kind": TEXT, "source_type": TEXT, "description": TEXT, "path": TEXT, "owners": "array", "tags": "array"},
    "columns": {"id": TEXT, "asset_id": TEXT, "name": TEXT, "data_type": TEXT},
    "tests": {"id": TEXT, "name": TEXT, "asset_id": TEXT, "test_type": TEXT, "severity": TEXT, "config": "object"},
    "latest_test_executions": {"id": TEXT, "test_id": TEXT, "sub_test_unique_id": TEXT, "status": TEXT, "start_time": TEXT, "duration_seconds": "number"},
    "asset_health_scores": {"asset_id": TEXT, "total": "object", "dimensions": "array"},
}
FIELDS["table_assets"] = {**FIELDS["assets"], "data_platform": TEXT, "db_name": TEXT, "schema_name": TEXT, "table_name": TEXT, "materialization": TEXT}

MANIFEST = {
    "version": "6.0.0",
    "type": "DeclarativeSource",
    "check": {"type": "CheckStream", "stream_names": ["assets"]},
    "streams": [
        *(feed(name, path, kind) for name, path in FEEDS.items() for kind in ("synced", "deleted")),
        # Without a primary key, a list is replaced by each run.
        *(stream(name, path, FIELDS.get(name) or dict.fromkeys(key, TEXT)) for name, (path, key) in SNAPSHOTS.items()),
    ],
    "spec": {"type": "Spec", "connection_specification": {"type": "object", "properties": {}}},
}

FILE = f"{FOLDER}/airbyte.duckdb"

if sys.argv[1] == "rows":
    db = duckdb.connect(FILE)
    existing = {row[0] for row in db.execute("select table_name from information_schema.tables").fetchall()}
    tables = {}
    for name in [*FEEDS, *SNAPSHOTS]:
        found = db.execute(live_rows(name, existing))
        names = [column[0] for column in found.description]
        tables[name] = [dict(zip(names, row)) for row in found.fetchall()]
    print(json.dumps(tables, default=str))
else:
    source = ab.get_source("source-service", config={}, source_manifest=MANIFEST, streams="*")
    source.read(cache=ab.caches.DuckDBCache(db_path=FILE, schema_name="main"), skip_validation=True)
