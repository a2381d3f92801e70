"""Runs a command and writes its usage, and that of its own processes, to a file: `measure.py FILE COMMAND...`."""

import json
import resource
import subprocess
import sys
import time

started = time.monotonic()
code = subprocess.call(sys.argv[2:])
wall = time.monotonic() - started
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open("/proc/self/io") as file:
    written = next(int(line.split()[1]) for line in file if line.startswith("wchar"))
usage = {
    "cpuSeconds": used.ru_utime + used.ru_stime,
    "wallSeconds": wall,
    "peakMiB": used.ru_maxrss / 1024,
    "writtenMiB": written / 2**20,
}
with open(sys.argv[1], "w") as file:
    json.dump(usage, file)
sys.exit(code)
