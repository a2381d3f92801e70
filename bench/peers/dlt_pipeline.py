"""dlt: one resource per list, merged by its key; tombstones are merged with the `hard_delete` hint."""

import json
import os
import sys

from lists import EVER, FEEDS, FOLDER, OVERLAP_MINUTES, PAGE_ROWS, SERVICE, SNAPSHOTS, TOKEN

os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
os.environ["RUNTIME__LOG_LEVEL"] = "CRITICAL"
os.environ["DLT_DATA_DIR"] = FOLDER

import dlt  # noqa: E402
from dlt.sources.helpers.rest_client import RESTClient  # noqa: E402
from dlt.sources.helpers.rest_client.auth import BearerTokenAuth  # noqa: E402
from dlt.sources.helpers.rest_client.paginators import JSONResponseCursorPaginator  # noqa: E402

client = RESTClient(
    base_url=SERVICE,
    auth=BearerTokenAuth(TOKEN),
    paginator=JSONResponseCursorPaginator(cursor_path="next_cursor", cursor_param="cursor"),
    data_selector="items",
)
MERGED = {
    "primary_key": "id",
    "write_disposition": "merge",
    "max_table_nesting": 0,
    # Of a row and its tombstone in one load, the tombstone wins.
    "columns": {"deleted_at": {"data_type": "timestamp", "hard_delete": True, "dedup_sort": "desc"}},
}


def pages(path, **query):
    return client.paginate(path, params={"limit": PAGE_ROWS, **query})


def feed(name, path):
    lag = OVERLAP_MINUTES * 60

    @dlt.resource(name=name, **MERGED)
    def live(synced=dlt.sources.incremental("synced_at", lag=lag)):
        yield from pages(path, **({"synced_since": synced.start_value} if synced.start_value else {}))

    @dlt.resource(name=f"{name}_deleted", table_name=name, **MERGED)
    def deleted(gone=dlt.sources.incremental("deleted_at", lag=lag)):
        yield from pages(path, deleted_since=gone.start_value or EVER)

    return [live, deleted]


def snapshot(name, path, key):
    settings = {"name": name, "primary_key": key, "write_disposition": "replace", "max_table_nesting": 0}
    # An empty page would keep dlt from emptying the table.
    return dlt.resource(lambda: (yield from filter(None, pages(path))), **settings)


@dlt.source
def service():
    for name, path in FEEDS.items():
        yield from feed(name, path)
    for name, (path, key) in SNAPSHOTS.items():
        yield snapshot(name, path, key)


destinations = {
    "sqlite": lambda: dlt.destinations.sqlalchemy(f"sqlite:///{FOLDER}/dlt.db"),
    "duckdb": lambda: dlt.destinations.duckdb(f"{FOLDER}/dlt.duckdb"),
}
pipeline = dlt.pipeline("peers", destination=destinations[sys.argv[2]](), dataset_name="mirror", pipelines_dir=FOLDER)

if sys.argv[1] == "rows":
    tables = {}
    with pipeline.sql_client() as sql:
        for name in [*FEEDS, *SNAPSHOTS]:
            names = list(pipeline.default_schema.get_table_columns(name))
            columns = ", ".join(f'"{column}"' for column in names)
            found = sql.execute_sql(f"select {columns} from {sql.make_qualified_table_name(name)}")
            tables[name] = [dict(zip(names, row)) for row in found]
    print(json.dumps(tables, default=str))
else:
    # A killed run may have left a package, which is loaded first.
    if pipeline.has_pending_data:
        pipeline.run()
    pipeline.run(service())
