"""Validates a semantic model and asks it for metrics: semantic_model.py ANSWERS MODEL DATABASE"""

import subprocess
import sys

from azem import Connection, SemanticModel, attest, compile_query

from mirror import MIRROR, Comparison

MODEL, DATABASE = sys.argv[2:4]
WHERE = DATABASE.split(":")[0].split("+")[0]

linted = Comparison("ossie-guard", f"semantic model for {WHERE}")
done = subprocess.run(["ossie-guard", "--strict", MODEL], capture_output=True, text=True)
linted.note("strict", None if done.returncode == 0 else done.stdout[-2000:])
linted.report()

model = SemanticModel.from_file(MODEL)
with Connection.from_url(DATABASE) as connection:
    attested = Comparison("azem", f"attest: semantic model on {WHERE}")
    for check in attest(model, connection).checks:
        attested.note(check.name, None if check.status == "passed" else f"{check.status}: {check.detail}")
    attested.report()

    def answer(name):
        question = MIRROR[name]
        dimensions, metric = [each["azem"] for each in question["by"]], question["metric"]
        request = {"metrics": [metric], "dimensions": dimensions}
        rows = connection.run(compile_query(model, request, connection.dialect))
        return [column["name"] for column in question["columns"]], [list(row.values()) for row in rows]

    # Only MetricFlow makes months of the times.
    asked = [name for name, question in MIRROR.items() if "month" not in name]
    Comparison("azem", f"metrics on {WHERE}", digits=12).read_all(answer, asked)
