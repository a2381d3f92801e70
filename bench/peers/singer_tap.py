"""Singer: a tap on the SDK's RESTStream. Lists with feeds have replication keys, and a second stream of tombstones."""

from datetime import datetime, timedelta

from singer_sdk import RESTStream, Tap
from singer_sdk import typing as th

from lists import EVER, FEEDS, OVERLAP_MINUTES, PAGE_ROWS, SERVICE, SNAPSHOTS, TOKEN

TEXTS = (
    "id name kind source_type description parent_id path data_platform db_name schema_name table_name materialization "
    "bi_platform bi_type url asset_id data_type test_type definition_type severity column_name test_id "
    "sub_test_unique_id sub_type status start_time quality_dimension result_reason exception upstream_asset_id "
    "downstream_asset_id upstream_column_id downstream_column_id"
).split()
TIMES = "created_at updated_at synced_at deleted_at".split()
SCHEMA = th.PropertiesList(
    *(th.Property(name, th.StringType) for name in TEXTS),
    *(th.Property(name, th.DateTimeType) for name in TIMES),
    *(th.Property(name, th.NumberType) for name in ("failure_count", "duration_seconds")),
    th.Property("disabled", th.BooleanType),
    *(th.Property(name, th.ArrayType(th.AnyType)) for name in ("owners", "tags", "dimensions")),
    *(th.Property(name, th.ObjectType(additional_properties=True)) for name in ("config", "total")),
).to_dict()
FIELDS = {
    "assets": TEXTS[:7] + TIMES + ["owners", "tags"],
    "table_assets": TEXTS[:12] + TIMES + ["owners", "tags"],
    "columns": ["id", "asset_id", "name", "data_type", *TIMES],
    "tests": "id name test_type definition_type source_type severity disabled asset_id column_name config owners tags".split() + TIMES,
    "latest_test_executions": TEXTS[21:28] + ["failure_count", "duration_seconds", "id", "column_name", "synced_at"],
    "asset_health_scores": ["asset_id", "total", "dimensions"],
}


class List(RESTStream):
    url_base = SERVICE
    records_jsonpath = "$.items[*]"
    next_page_token_jsonpath = "$.next_cursor"
    parameter = None

    @property
    def http_headers(self):
        return {"Authorization": f"Bearer {TOKEN}"}

    def get_url_params(self, context, next_page_token):
        query = {"limit": PAGE_ROWS}
        if next_page_token:
            query["cursor"] = next_page_token
        since = self.get_starting_replication_key_value(context)
        if since:
            start = datetime.fromisoformat(since) - timedelta(minutes=OVERLAP_MINUTES)
            query[self.parameter] = start.isoformat().replace("+00:00", "Z")
        elif self.parameter == "deleted_since":
            query[self.parameter] = EVER
        return query

    def backoff_wait_generator(self):
        return self.backoff_runtime(value=lambda error: float(error.response.headers.get("Retry-After") or 2))


class TapService(Tap):
    name = "tap-service"
    config_jsonschema = th.PropertiesList().to_dict()

    def discover_streams(self):
        for name, path in FEEDS.items():
            yield self.stream(name, path, ["id"], "synced")
            yield self.stream(f"{name}_deleted", path, ["id"], "deleted")
        for name, (path, key) in SNAPSHOTS.items():
            yield self.stream(name, path, key, None)

    def stream(self, name, path, key, feed):
        fields = FIELDS.get(name.removesuffix("_deleted"), key)
        schema = {"type": "object", "properties": {field: SCHEMA["properties"][field] for field in fields}}
        kind = type(name, (List,), {"name": name, "path": f"/{path}", "primary_keys": key, "schema": schema})
        if feed:
            kind.parameter = f"{feed}_since"
            kind.replication_key = f"{feed}_at"
        return kind(tap=self)


if __name__ == "__main__":
    TapService.cli()
