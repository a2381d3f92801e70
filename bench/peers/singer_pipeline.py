"""Singer: tap | target, with the state that the target emits kept for the next run."""

import json
import os
import sqlite3
import subprocess
import sys

from lists import FEEDS, FOLDER, SNAPSHOTS, live_rows

HERE = os.path.dirname(__file__)
STATE = f"{FOLDER}/state.json"

if sys.argv[1] == "rows":
    db = sqlite3.connect(f"{FOLDER}/singer.db")
    tables = {name for (name,) in db.execute("select name from sqlite_schema where type = 'table'")}
    db.row_factory = sqlite3.Row
    print(json.dumps({name: [dict(row) for row in db.execute(live_rows(name, tables))] for name in [*FEEDS, *SNAPSHOTS]}))
else:
    state = ["--state", STATE] if os.path.exists(STATE) else []
    tap = subprocess.Popen([sys.executable, f"{HERE}/singer_tap.py", *state], stdout=subprocess.PIPE)
    target = subprocess.run([sys.executable, f"{HERE}/singer_target.py"], stdin=tap.stdout, stdout=subprocess.PIPE)
    if target.stdout.strip():
        with open(STATE, "w") as file:
            file.write(target.stdout.decode().strip().splitlines()[-1])
    sys.exit(tap.wait() or target.returncode)
