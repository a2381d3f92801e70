"""Reads exports with Spark: spark.py EXPECTED READS JARS [STATEMENT…]

READS is a JSON file with an object for each export: what it is, its folder, its format, and the states to read. A state
has the path of what the mirror had and the tables, for Delta with their versions. The statements are run at the end.
"""

import json
import os
import sys

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

from pyspark.sql import SparkSession

from mirror import Comparison, load_mirror

READS, JARS, *STATEMENTS = sys.argv[2:]

SETTINGS = {
    # Most of the time would go into compiling what runs once.
    "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={os.getcwd()}",
    "spark.driver.memory": "1g",
    "spark.jars": JARS,
    "spark.local.dir": os.getcwd(),
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The tables are small, and a task costs more than their rows.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}

TYPES = {"integer": "bigint", "real": "double", "time": "timestamp", "day": "date", "flag": "boolean"}


def frame_of(path, format, columns, version):
    if format == "delta":
        return spark.read.format("delta").option("versionAsOf", version).load(path)
    reader = spark.read.option("recursiveFileLookup", True)
    if format == "parquet":
        return reader.parquet(path)
    if format == "csv":
        # With another text for NULL, an empty field and "" differ.
        return reader.options(header=True, multiLine=True, escape='"', nullValue="\x00").csv(path)
    types = [f"`{column['name']}` {TYPES.get(column['kind'], 'string')}" for column in columns]
    return reader.schema(", ".join(types)).json(path)


def read_export(what, folder, format, states):
    comparison = Comparison("pyspark", what, typed=format != "csv", json_by_value=format == "ndjson")
    for state in states:
        comparison.mirror = load_mirror(state["mirror"])

        def read(name):
            columns, version = comparison.mirror[name]["columns"], state["tables"][name]
            table = frame_of(f"{folder}/{name}", format, columns, version).toArrow()
            return table.column_names, [list(row.values()) for row in table.to_pylist()]

        for name in state["tables"]:
            comparison.read(name, read)
    comparison.report()


builder = SparkSession.builder.master("local[2]")
for key, value in SETTINGS.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
with open(READS) as reads:
    for each in json.load(reads):
        read_export(**each)
for statement in STATEMENTS:
    spark.sql(statement).collect()
spark.stop()
