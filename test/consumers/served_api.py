"""Reads `obsync serve`: served_api.py EXPECTED URL TOKEN TOOL. Files are written to the working directory."""

import importlib
import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

from mirror import MIRROR, Comparison

URL, TOKEN, TOOL = sys.argv[2:5]


def rows_of(name):
    columns = [column["name"] for column in MIRROR[name]["columns"]]
    return [dict(zip(columns, row, strict=True)) for row in MIRROR[name]["rows"]]


def live_rows_of(name):
    return [row for row in rows_of(name) if row["deleted_at"] is None]


def expected_rows():
    """The rows of each list, with the operation that returns them. A list shows what the mirror has of live objects."""
    live = {name: {(row["env_id"], row["id"]) for row in live_rows_of(name)} for name in ("assets", "columns")}
    hidden = {(row["env_id"], row["id"]) for row in rows_of("tests") if row["disabled"] == 1 or row["deleted_at"]}
    # A test without a required field is not shown.
    tests = [row for row in live_rows_of("tests") if row["disabled"] == 0]

    def edges(name, ends):
        kept = [column for column in rows_of(name)[0] if column.endswith("_id") and column != "env_id"]
        return [row for row in rows_of(name) if all((row["env_id"], row[column]) in live[ends] for column in kept)]

    latest = [row for row in rows_of("latest_test_executions") if (row["env_id"], row["test_id"]) not in hidden]
    yield "assets.list_assets", "assets", live_rows_of("assets")
    yield "columns.list_columns", "columns", live_rows_of("columns")
    yield "tests.list_tests", "tests", tests
    yield "asset_lineage.list_asset_lineage_edges", "asset_lineage", edges("asset_lineage", "assets")
    yield "column_lineage.list_column_lineage_edges", "column_lineage", edges("column_lineage", "columns")
    yield "latest_test_executions.list_latest_test_executions", "latest_test_executions", latest


def by_openapi_python_client():
    generated = ["openapi-python-client", "generate", "--url", f"{URL}/openapi.json", "--output-path", "client"]
    subprocess.run(generated, check=True, stdout=subprocess.DEVNULL)
    package = next(Path("client").glob("*_client"))
    sys.path.insert(0, "client")
    client = importlib.import_module(package.name).AuthenticatedClient(base_url=URL, token=TOKEN)
    comparison = Comparison("openapi-python-client", "lists and assets of the API")

    def call(operation, *args, **parameters):
        module = importlib.import_module(f"{package.name}.api.{operation}")
        return module.sync(*args, client=client, **parameters)

    def pages(operation, environment):
        parameters = {}
        while parameters.get("cursor", "") is not None:
            page = call(operation, environment, limit=7, **parameters)
            yield from page.items
            parameters["cursor"] = page.next_cursor

    environments = [environment.id for environment in call("environments.list_environments")]
    for operation, name, rows in expected_rows():
        columns = [column["name"] for column in MIRROR[name]["columns"] if column["kind"] in ("text", "integer")]
        items = [{"env_id": id, **item.to_dict()} for id in environments for item in pages(operation, id)]
        shared = [column for column in columns if column in items[0]]
        ours, theirs = ([[each[column] for column in shared] for each in found] for found in (rows, items))
        same = sorted(map(json.dumps, ours)) == sorted(map(json.dumps, theirs))
        difference = f"{len(theirs)} items instead of {len(ours)}, {theirs[:2]}… instead of {ours[:2]}…"
        comparison.note(operation, None if same else difference, len(ours))
    assets = live_rows_of("assets")
    found = [call("assets.get_asset", row["env_id"], row["id"]).name for row in assets]
    comparison.note("get_asset", None if found == [row["name"] for row in assets] else f"{found}", len(found))
    comparison.report()


def by_schemathesis():
    """A bounded run. The ids are of an asset, so that more than 404 comes back."""
    asset = live_rows_of("assets")[0]
    settings = {"path.env_id": asset["env_id"], "path.asset_id": asset["id"]}
    lines = ["[parameters]", *(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in settings.items())]
    Path("schemathesis.toml").write_text("\n".join(lines))
    # The other checks doubt what OpenAPI cannot express, such as that a cursor comes from the server.
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    options = ["--phases", "fuzzing", "--max-examples", "20", "--seed", "1", "--no-color"]
    run = ["schemathesis", "run", f"{URL}/openapi.json", "-H", f"Authorization: Bearer {TOKEN}", *options]
    done = subprocess.run([*run, "--checks", f"{checks}response_schema_conformance"], capture_output=True, text=True)
    cases = int(next(iter(re.findall(r"(\d+) passed", done.stdout.split("Test cases:")[-1])), 0))
    comparison = Comparison("schemathesis", f"API of serve, {cases} requests")
    comparison.note("run", None if done.returncode == 0 and cases > 100 else done.stdout[-3000:])
    comparison.report()


def by_promtool():
    request = urllib.request.Request(f"{URL}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request) as answer:
        metrics = answer.read()
    done = subprocess.run(["promtool", "check", "metrics"], input=metrics, capture_output=True)
    tool_version = subprocess.run(["promtool", "--version"], capture_output=True, text=True).stdout.split(" ")[2]
    comparison = Comparison("promtool", "/metrics of serve", tool_version)
    comparison.note("check metrics", None if done.returncode == 0 else done.stderr.decode())
    comparison.report()


globals()[f"by_{TOOL}"]()
