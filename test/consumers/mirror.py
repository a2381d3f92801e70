"""Compares what a tool reads with the mirror.

The first argument of each script is a JSON file with the tables and views of the mirror, their columns and rows. A
script prints a line of JSON for each thing that it reads.
"""

import json
import sys
from datetime import date, datetime, timezone
from importlib.metadata import version


def load_mirror(path):
    return {each["name"]: each for each in json.load(open(path, encoding="utf-8"))}


MIRROR = load_mirror(sys.argv[1])

TYPES = {"integer": int, "real": float, "time": datetime, "day": date, "flag": bool}


def names(kind=None):
    return [name for name, each in MIRROR.items() if kind in (None, each["kind"])]


class Comparison:
    """What one tool reads of one thing, such as the folders of a Parquet export.

    `typed`: the values have the types of the columns. `digits`: how many digits of a number are compared.
    `null_as_empty`: the tool cannot tell NULL from an empty text. `json_by_value`: spaces in JSON do not count.
    """

    def __init__(self, tool, what, tool_version=None, **how):
        self.said = {"tool": tool, "version": tool_version or version(tool), "what": what}
        self.mirror, self.how = MIRROR, {"typed": False, "digits": 17, "null_as_empty": False, "json_by_value": False} | how
        self.equal, self.rows, self.differing = 0, 0, {}

    def read(self, name, read):
        """Calls `read` for the columns and the rows of a table or view, and compares them."""
        try:
            difference = self._difference(name, *read(name))
        except Exception as error:
            difference = f"{type(error).__name__}: {error}"[:400]
        self.note(name, difference, len(self.mirror[name]["rows"]))

    def note(self, name, difference, rows=0):
        if difference is None:
            self.equal += 1
            self.rows += rows
        else:
            self.differing[name] = difference

    def read_all(self, read, only=None):
        for name in only or names():
            self.read(name, read)
        self.report()

    def report(self):
        counts = {"equal": self.equal, "of": self.equal + len(self.differing), "rows": self.rows}
        print(json.dumps({**self.said, **counts, "differing": self.differing}), flush=True)

    def _difference(self, name, columns, rows):
        expected = self.mirror[name]
        wanted = [column["name"] for column in expected["columns"]]
        if list(columns) != wanted:
            return f"columns {list(columns)} instead of {wanted}"
        kinds = [column["kind"] for column in expected["columns"]]
        theirs = sorted(canonical(kinds, row, **self.how) for row in rows)
        ours = sorted(canonical(kinds, row, **self.how | {"typed": False}) for row in expected["rows"])
        if len(theirs) != len(ours):
            return f"{len(theirs)} rows instead of {len(ours)}"
        return next((f"{one} instead of {other}" for one, other in zip(theirs, ours) if one != other), None)


def canonical(kinds, row, **how):
    return json.dumps([canonical_value(kind, value, **how) for kind, value in zip(kinds, row, strict=True)])


def canonical_value(kind, value, typed, digits, null_as_empty, json_by_value):
    if null_as_empty and value in (None, ""):
        return ""
    if value is None or value != value:  # NaN and NaT, which stand for NULL in pandas
        return None
    is_parsed = kind == "json" and json_by_value
    if typed and not is_parsed and not isinstance(value, TYPES.get(kind, str)):
        raise TypeError(f"{type(value).__name__} {value!r} for a column of kind {kind}")
    if is_parsed:
        return json.loads(value) if isinstance(value, str) else value
    if kind == "integer":
        return int(value)
    if kind == "real":
        return float(format(float(value), f".{digits}g"))
    if kind == "flag":
        return int({"true": True, "false": False}.get(value, value))
    if isinstance(value, datetime):
        utc = value.astimezone(timezone.utc) if value.tzinfo else value
        return utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    return str(value)
