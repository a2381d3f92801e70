"""Imports both archives into one new Superset, and asks every chart what `questions.json` has answers to.

superset_charts.py FOLDER PASSWORD: the folder has the archives, the questions, and room for Superset's own files.
Writes `report.json` there: how many questions were answered, and what is wrong.
"""

import json
import os
import subprocess
import sys
import urllib.parse
from datetime import datetime, timezone
from pathlib import Path

FOLDER, PASSWORD = Path(sys.argv[1]), sys.argv[2]
CONFIG = FOLDER / "superset_config.py"
CONFIG.write_text(
    f"""
SECRET_KEY = "only for a test, and long enough: 0123456789"
SQLALCHEMY_DATABASE_URI = "sqlite:///{FOLDER}/superset.db"
PREVENT_UNSAFE_DB_CONNECTIONS = False
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
JWT_ACCESS_TOKEN_EXPIRES = False
"""
)
os.environ |= {
    "SUPERSET_CONFIG_PATH": str(CONFIG),
    "SUPERSET_HOME": str(FOLDER),
    "FLASK_APP": "superset",
    "SCARF_ANALYTICS": "false",
}
for command in (["db", "upgrade"], ["init"]):
    subprocess.run(["superset", *command], check=True, capture_output=True)

from superset.app import create_app  # noqa: E402

PROBLEMS: list[str] = []


def main() -> None:
    app = create_app()
    with app.app_context():
        add_user(app, "admin", "Admin")
        add_user(app, "alpha", "Alpha")
    client = app.test_client()
    admin = Session(client, "admin")
    for name, passwords in (("obsync-sqlite", {}), ("obsync-postgresql", {"databases/obsync.yaml": PASSWORD})):
        admin.upload("/api/v1/dashboard/import/", "formData", name, passwords)
    answered = ask_all(admin)
    reimport(admin)
    answered += ask_all(admin) + drill_down(admin)
    seen = Session(client, "alpha").get("/api/v1/dashboard/")["count"]
    if seen != 2:
        PROBLEMS.append(f"another user sees {seen} dashboards")
    (FOLDER / "report.json").write_text(json.dumps({"answered": answered, "problems": PROBLEMS}))


def add_user(app, name: str, role: str) -> None:
    manager = app.appbuilder.sm
    manager.add_user(name, name, name, f"{name}@example.com", manager.find_role(role), "password")


class Session:
    """Calls the REST API as one user."""

    def __init__(self, client, name: str) -> None:
        self.client = client
        login = {"username": name, "password": "password", "provider": "db"}
        token = client.post("/api/v1/security/login", json=login).json["access_token"]
        self.headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str) -> dict:
        return checked(path, self.client.get(path, headers=self.headers))

    def post(self, path: str, body: dict) -> dict:
        return checked(path, self.client.post(path, json=body, headers=self.headers))

    def put(self, path: str, body: dict) -> dict:
        return checked(path, self.client.put(path, json=body, headers=self.headers))

    def upload(self, path: str, field: str, name: str, passwords: dict) -> None:
        with open(FOLDER / f"{name}.zip", "rb") as archive:
            form = {field: (archive, f"{name}.zip"), "passwords": json.dumps(passwords)}
            checked(path, self.client.post(path, data=form, headers=self.headers))

    def charts(self) -> list[dict]:
        query = urllib.parse.quote("(page_size:100)")
        listed = self.get(f"/api/v1/chart/?q={query}")["result"]
        return [{**self.get(f"/api/v1/chart/{each['id']}")["result"], "id": each["id"]} for each in listed]


def checked(path: str, response) -> dict:
    if response.status_code >= 400:
        raise SystemExit(f"{path}: {response.status_code} {response.get_data(as_text=True)[:2000]}")
    return response.json


def ask_all(session: Session) -> int:
    questions = json.loads((FOLDER / "questions.json").read_text())
    answered = 0
    for chart in session.charts():
        for question in questions:
            if question["chart"] == chart["slice_name"]:
                answered += ask(session, json.loads(chart["query_context"]), question)
    return answered


def ask(session: Session, context: dict, question: dict) -> int:
    """Adds the filters as the pages of Superset do: a range of time replaces that of the chart."""
    query = context["queries"][0]
    ranges = [each["col"] for each in question["filters"] if each["op"] == "TEMPORAL_RANGE"]
    kept = [each for each in query["filters"] if each["col"] not in ranges]
    query["filters"] = kept + question["filters"]
    result = session.post("/api/v1/chart/data", context)["result"][0]
    rows = [[row[name] for name in question["names"]] for row in result["data"]]
    expected, seen = comparable(question["rows"]), comparable(rows)
    if not same(expected, seen):
        where = json.dumps(question["filters"])
        database = context["datasource"]["id"]
        PROBLEMS.append(f"{question['chart']} of {database} with {where}: {first_difference(expected, seen)}")
    return 1


def first_difference(expected: list, seen: list) -> str:
    pairs = zip(expected + [None], seen + [None])
    different = next((pair for pair in pairs if pair[0] is None or pair[1] is None or not same_row(*pair)), None)
    return f"{len(expected)} and {len(seen)} rows, {str(different)[:600]}"


def comparable(rows: list) -> list:
    return sorted(([plain(value) for value in row] for row in rows), key=order)


def order(row: list) -> tuple:
    """By texts first: what follows may differ in its last digits."""
    texts = [str(value) for value in row if not isinstance(value, float)]
    return texts, [-1 if value is None else value for value in row if value is None or isinstance(value, float)]


def plain(value):
    """Numbers as such, times as text in UTC seconds, a link as its address."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        if value > 1e12:
            return datetime.fromtimestamp(value / 1000, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
        return float(value)
    if isinstance(value, str):
        if value.startswith("<a href="):
            return value.split('"')[1]
        if value[:2] == "20" and value[4:5] == "-" and value[7:8] == "-":
            return (value.replace(" ", "T") + "T00:00:00")[:19]
    return value


def same(expected: list, seen: list) -> bool:
    return len(expected) == len(seen) and all(map(same_row, expected, seen))


def same_row(expected: list, seen: list) -> bool:
    return all(map(same_value, expected, seen))


def same_value(expected, seen) -> bool:
    """An age has grown since it was asked in SQL."""
    if isinstance(expected, float) and isinstance(seen, float):
        return abs(expected - seen) <= max(1e-9 * abs(expected), 0.0) or 0 < seen - expected < 0.5
    return expected == seen


def drill_down(session: Session) -> int:
    """The rows behind the number of failing tests of one owner are these tests, each once."""
    [question] = [
        each
        for each in json.loads((FOLDER / "questions.json").read_text())
        if each["chart"] == "Failing tests" and [filter["col"] for filter in each["filters"]] == ["owner"]
    ]
    charts = [chart for chart in session.charts() if chart["slice_name"] == "Failing tests"]
    for chart in charts:
        context = json.loads(chart["query_context"])
        query = {"columns": [], "metrics": [], "filters": question["filters"], "row_limit": 1000}
        asked = {**context, "queries": [query], "result_type": "drill_detail"}
        rows = session.post("/api/v1/chart/data", asked)["result"][0]["data"]
        if [[len({row["row_key"] for row in rows})]] != question["rows"]:
            PROBLEMS.append(f"drilling down into failing tests shows {len(rows)} in place of {question['rows']}")
    return len(charts)


def reimport(session: Session) -> None:
    """A newer archive replaces what obsync wrote, keeps the password, and leaves what a user has made."""
    theirs = session.charts()[0]
    own = {
        "slice_name": "my own chart",
        "viz_type": "table",
        "datasource_id": json.loads(theirs["query_context"])["datasource"]["id"],
        "datasource_type": "table",
        "params": "{}",
    }
    session.post("/api/v1/chart/", own)
    board = session.post("/api/v1/dashboard/", {"dashboard_title": "my own dashboard"})["id"]
    session.put(f"/api/v1/chart/{theirs['id']}", {"slice_name": "changed"})
    for name in ("obsync-sqlite-assets", "obsync-postgresql-assets"):
        session.upload("/api/v1/assets/import/", "bundle", name, {})
    if session.get(f"/api/v1/dashboard/{board}")["result"]["dashboard_title"] != "my own dashboard":
        PROBLEMS.append("a user's own dashboard is gone")
    names = [chart["slice_name"] for chart in session.charts() if chart["slice_name"] != "my own chart"]
    if len(session.charts()) - len(names) != 1:
        PROBLEMS.append("a user's own chart is gone")
    if "changed" in names:
        PROBLEMS.append("a chart is as it was before the import")


main()
