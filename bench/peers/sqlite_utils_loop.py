"""sqlite-utils: a loop over the pages.

`changes` reads the feeds where there are any, `everything` rereads all lists.
"""

import json
import sys
import time
from datetime import datetime, timedelta
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import sqlite_utils

from lists import EVER, FEEDS, FOLDER, OVERLAP_MINUTES, PAGE_ROWS, SERVICE, SNAPSHOTS, TOKEN

db = sqlite_utils.Database(f"{FOLDER}/loop.db")


def get(path, query, tries=6):
    request = Request(f"{SERVICE}/{path}?{urlencode(query)}", headers={"Authorization": f"Bearer {TOKEN}"})
    for attempt in range(tries):
        try:
            with urlopen(request, timeout=60) as response:
                return json.load(response)
        except HTTPError as error:
            if attempt == tries - 1 or (error.code != 429 and error.code < 500):
                raise
            time.sleep(float(error.headers.get("Retry-After") or 2**attempt))


def rows(path, **query):
    query["limit"] = PAGE_ROWS
    while True:
        page = get(path, query)
        yield from page["items"]
        if not page["has_more"]:
            return
        query["cursor"] = page["next_cursor"]


def replace(name, path, key):
    found = list(rows(path))
    if found:
        db[name].insert_all(found, pk=key, replace=True, truncate=True, alter=True)
    elif db[name].exists():
        db[name].delete_where()


def watermark(feed):
    if not db["watermarks"].exists():
        return None
    return next((row["at"] for row in db["watermarks"].rows_where("feed = ?", [feed])), None)


def read_feed(name, path):
    """A watermark is saved only once its list was read to the end, so a killed run is repeated."""
    for parameter, field, since in (
        ("synced_since", "synced_at", watermark(name)),
        ("deleted_since", "deleted_at", watermark(f"{name} deleted") or EVER),
    ):
        newest = since or ""
        query = {}
        if since is not None:
            start = datetime.fromisoformat(since) - timedelta(minutes=OVERLAP_MINUTES if since != EVER else 0)
            query[parameter] = start.isoformat().replace("+00:00", "Z")
        found = list(rows(path, **query))
        if field == "synced_at":
            db[name].upsert_all(found, pk="id", alter=True)
        else:
            for row in found:
                db[name].delete_where("id = ? and synced_at <= ?", [row["id"], row["deleted_at"]])
        newest = max([newest, *(row[field] for row in found)])
        db["watermarks"].upsert({"feed": name if field == "synced_at" else f"{name} deleted", "at": newest}, pk="feed")


def sync(everything):
    for name, path in FEEDS.items():
        if everything:
            replace(name, path, "id")
        else:
            read_feed(name, path)
    for name, (path, key) in SNAPSHOTS.items():
        replace(name, path, key)


if sys.argv[1] == "rows":
    print(json.dumps({name: list(db[name].rows) for name in [*FEEDS, *SNAPSHOTS]}))
else:
    sync(everything=sys.argv[2] == "everything")
db.close()
