"""Builds the models of dbt's semantic layer, and asks MetricFlow for metrics: dbt_metrics.py ANSWERS PROJECT ADAPTER"""

import contextlib
import csv
import io
import os
import sys
from pathlib import Path

from dbt.cli.main import dbtRunner

from mirror import MIRROR, Comparison

with contextlib.redirect_stdout(sys.stderr):  # its spinner keeps what it finds
    from dbt_metricflow.cli.cli_configuration import CLIConfiguration
    from dbt_metricflow.cli.main import query, validate_configs

PROJECT, ADAPTER = sys.argv[2:4]


def run_mf(command, *args):
    """Runs a command of `mf`. Its group would look for a newer version first."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            command.main(args, obj=mf, standalone_mode=False)
    except SystemExit as ended:
        raise RuntimeError(f"mf {command.name} ended with {ended.code}: {said.getvalue()[-2000:]}") from None
    return said.getvalue()


def answer(name):
    question = MIRROR[name]
    groups = [each["metricflow"] for each in question["by"]]
    path = Path(f"{name}.csv")
    grouped = ["--group-by", ",".join(groups)] if groups else []
    run_mf(query, "--metrics", question["metric"], *grouped, "--csv", str(path), "--quiet")
    with path.open() as file:
        rows = [[row[key] for key in (*groups, question["metric"])] for row in csv.DictReader(file)]
    columns = question["columns"]
    return [column["name"] for column in columns], [[*map(shown, columns, row)] for row in rows]


def shown(column, value):
    """A day comes as a time at midnight."""
    return value[:10] if column["kind"] == "day" else value


if __name__ == "__main__":  # dbt may start processes, which load this file again
    os.chdir(PROJECT)
    mf = CLIConfiguration()
    built = Comparison(ADAPTER, "dbt run: models of the semantic layer")
    done = dbtRunner().invoke(["--warn-error", "--log-level", "none", "run"])
    for result in getattr(done.result, "results", None) or []:
        built.note(result.node.name, None if result.status == "success" else f"{result.status}: {result.message}")
    built.note("run", None if done.success else f"{done.exception}")
    built.report()

    validated = Comparison("dbt-metricflow", f"mf validate-configs, {ADAPTER}")
    validated.note("errors and warnings", run_mf(validate_configs, "--show-all") or None)
    validated.report()
    Comparison("dbt-metricflow", f"mf query, {ADAPTER}", digits=12, null_as_empty=True).read_all(answer, [*MIRROR])
