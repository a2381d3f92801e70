"""The lists that every program reads, and where it reads and writes."""

import os

SERVICE = os.environ["PEERS_URL"] + "/public/beta/" + os.environ["PEERS_ENV"]
FOLDER = os.environ["PEERS_FOLDER"]
TOKEN = "token"
PAGE_ROWS = 2000

# Rows may become visible a little after the time they carry, so each run reads the last minutes again.
OVERLAP_MINUTES = 10

# Before any tombstone: the service reaches back 90 days at most.
EVER = "1970-01-01T00:00:00.000000Z"

# Lists with `synced_since` and `deleted_since`.
FEEDS = {"assets": "assets", "table_assets": "assets/tables", "columns": "columns", "tests": "tests"}

# Lists that can only be read whole, and their keys.
SNAPSHOTS = {
    "asset_lineage": ("asset-lineage", ["upstream_asset_id", "downstream_asset_id"]),
    "column_lineage": ("column-lineage", ["upstream_column_id", "downstream_column_id"]),
    "latest_test_executions": ("latest-test-executions", ["sub_test_unique_id"]),
    "asset_health_scores": ("asset-health-scores", ["asset_id"]),
}


def live_rows(name, tables):
    """The query for the current rows, for a program that keeps tombstones in a table of their own once it has any."""
    if f"{name}_deleted" not in tables:
        return f'select * from "{name}"'
    gone = f'select 1 from "{name}_deleted" d where d.id = t.id and d.deleted_at >= t.synced_at'
    return f'select * from "{name}" t where not exists ({gone})'
