"""Runs dbt over the generated sources, with every warning as an error: dbt_sources.py EXPECTED PROJECT ADAPTER SOURCE…"""

import json
import os
import sys
from pathlib import Path

from dbt.cli.main import dbtRunner

from mirror import MIRROR, Comparison

PROJECT, ADAPTER, *SOURCES = sys.argv[2:]
EXPORTED_STATE = ["obsync_state.mirror_environments", "obsync_state.pruned_history"]
os.chdir(PROJECT)
dbt = dbtRunner()


def run(command, *args):
    """Runs a command, and notes how each of its nodes ended."""
    comparison = Comparison(ADAPTER, f"dbt {command}: {' '.join(SOURCES)}")
    done = dbt.invoke(["--warn-error", "--log-level", "none", *command.split(" "), *args])
    comparison.note(command, str(done.exception)[:400] if done.exception else None)
    for node in getattr(done.result, "results", None) or []:
        ended = None if node.status in ("pass", "success") else f"{node.status}: {node.message}"
        comparison.note(node.node.unique_id if hasattr(node, "node") else node.unique_id, ended)
    return comparison


def selected(*sources):
    return ["--select", *(f"source:{source}" for source in sources)]


if __name__ == "__main__":  # dbt may start processes, which load this file again
    run("parse").report()
    run("test", *selected(*SOURCES)).report()

    docs = run("docs generate", *selected(*SOURCES, *EXPORTED_STATE))
    written = Path("target/catalog.json")
    catalog = json.loads(written.read_text())["sources"].values() if written.exists() else []
    columns_of = {each["metadata"]["name"]: list(each["columns"]) for each in catalog}
    for name, expected in MIRROR.items():
        columns = [column["name"] for column in expected["columns"]]
        # PostgreSQL has columns of its own in the state of obsync.
        found = columns_of.get(name, [])[: len(columns)]
        docs.note(name, None if found == columns else f"columns {found} instead of {columns}")
    docs.report()

    run("source freshness", *selected("obsync")).report()
