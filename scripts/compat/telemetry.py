#!/usr/bin/env python3
"""Run AIPerf 0.13.0 and aiperfd with all telemetry against the same simulator and compare the files they write, key by key.

    VENV/bin/python scripts/compat/telemetry.py --aiperfd bin/aiperfd --vocabulary package/data --work FOLDER

The set-up is that of sidebyside.py. Server metrics, GPU telemetry (the simulator's page of DCGM) and network latency
are on. Compared are the names of the files, every key of their JSON with the type of its value, the columns and first
cells of their tables, and the columns and metadata of the Parquet file; never the values. Then `aiperf plot` reads the
files of aiperfd. The exit status is 1 if AIPerf has something that aiperfd lacks, or if a file of telemetry has
something that AIPerf lacks, and KNOWN does not list it; docs/compatibility.md has the reasons.
"""
import argparse
import csv
import fnmatch
import io
import json
import os
import shutil
import subprocess
import sys

import pyarrow.parquet

import sidebyside

ARGUMENTS = ("profile --model m --tokenizer builtin --streaming --endpoint-type chat --random-seed 7 --isl 60 --osl 30 --concurrency 4 "
             "--request-count 500 --warmup-request-count 8 --slice-duration 1 --export-http-trace "
             "--server-metrics-formats json csv jsonl parquet --network-latency-automatic")
TELEMETRY = ("server_metrics_export*", "gpu_telemetry_export*", "profile_export_network_latency*")

# What differs on purpose, as FILE KEY; * stands for anything.
KNOWN = (
    "inputs.json",  # made only on request here
    "profile_export.jsonl.trace_data.*",
    "*.input_config.artifacts.auto_plot", "*.input_config.artifacts.plot_required",
    "server_metrics_export.json.input_config.network_latency.mean_ms",
    "*.input_config.datasets[[]].prompts.osl.stddev",  # 0
    "server_metrics_export.jsonl.metrics.*_info",
    "server_metrics_export.parquet metadata aiperf.py*", "server_metrics_export.parquet metadata aiperf.concurrency",
    "*.ours", "*.ours.*",
)


def run(options, tool, folder, port):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    binary, more = options.aiperfd, "--ui none"
    if tool == "aiperf":
        binary = os.path.join(os.path.dirname(sys.executable), "aiperf")
    words = (f"{ARGUMENTS} --url http://127.0.0.1:{port} --gpu-telemetry http://127.0.0.1:{port}/dcgm/metrics "
             f"--output-artifact-dir {folder}/results {more}").split()
    with open(os.path.join(folder, "log"), "w") as log:
        done = subprocess.run([binary, *words], cwd=folder, env={**os.environ, "HF_HUB_OFFLINE": "1"}, stdout=log, stderr=log, timeout=300)
    if done.returncode:
        with open(os.path.join(folder, "log")) as log:
            raise SystemExit(f"{tool} ends with {done.returncode}: …{log.read()[-1500:]}")


def kind(value):
    """The type of a value; integers and fractions are one."""
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def paths(value, at=""):
    if isinstance(value, dict):
        for key, member in value.items():
            yield f"{at}.{key}", kind(member)
            yield from paths(member, f"{at}.{key}")
    elif isinstance(value, list):
        for member in value:
            yield f"{at}[]", kind(member)
            yield from paths(member, at + "[]")


def table(text):
    """The columns of each section of a table, and the first cell of each row."""
    for section in text.replace("\r\n", "\n").strip().split("\n\n"):
        rows = [row for row in csv.reader(io.StringIO(section)) if row and not row[0].startswith("#")]
        if not rows:
            continue
        head = rows[0]
        at = head.index("Metric") if "Metric" in head else 0
        for column in head:
            yield f" {head[0]}: {column}", "column"
        for row in rows[1:]:
            if len(row) > at:
                yield f" {head[0]}: {row[at]}", "row"


def parquet(path):
    schema = pyarrow.parquet.read_schema(path)
    for field in schema:
        yield " " + field.name, str(field.type)
    for key, value in (schema.metadata or {}).items():
        if key.startswith(b"aiperf."):
            yield " metadata " + key.decode(), "metadata"
            if key == b"aiperf.input_config":
                yield from paths(json.loads(value), " metadata " + key.decode())


def keys(path):
    """What a file has, as a dict from keys to the types of their values."""
    extension = os.path.splitext(path)[1]
    if extension == ".parquet":
        return dict(parquet(path))
    with open(path) as f:
        text = f.read()
    found = {}
    if extension == ".csv":
        pairs = table(text)
    elif extension == ".json":
        pairs = paths(json.loads(text))
    elif extension == ".jsonl":
        pairs = (pair for line in text.splitlines() for pair in paths(json.loads(line)))
    else:
        return found
    for key, name in pairs:
        if found.get(key, "NoneType") == "NoneType":
            found[key] = name
    return found


def known(name, key):
    return any(fnmatch.fnmatchcase(f"{name}{key}", pattern) for pattern in KNOWN)


def outermost(a, b):
    """The keys of a that b lacks, without those within them."""
    missing = [key for key in a if key not in b]
    return [key for key in missing if not any(key.startswith((other + ".", other + "[")) for other in missing)]


def compare(theirs, ours):
    """Print what differs and return how much of it is not known."""
    unknown = 0
    for name in sorted(os.listdir(theirs)):
        if os.path.isdir(os.path.join(theirs, name)):
            continue
        if not os.path.exists(os.path.join(ours, name)):
            unknown += not known(name, "")
            print(f"{'known ' if known(name, '') else 'DIFFER'} {name}: only AIPerf writes it")
            continue
        a, b = keys(os.path.join(theirs, name)), keys(os.path.join(ours, name))
        telemetry = any(fnmatch.fnmatchcase(name, pattern) for pattern in TELEMETRY)
        lines = [(key, "only AIPerf") for key in outermost(a, b)]
        lines += [(key, "only aiperfd") for key in outermost(b, a) if telemetry or key.startswith(".telemetry_data")]
        lines += [(key, f"{a[key]} / {b[key]}") for key in a if key in b and a[key] != b[key] and "NoneType" not in (a[key], b[key])]
        print(f"{name}: {len(a)} keys of AIPerf, {len(b)} of aiperfd, {len(a.keys() & b.keys())} in common")
        for key, text in lines:
            unknown += not known(name, key)
            print(f"  {'known ' if known(name, key) else 'DIFFER'} {key}: {text}")
    return unknown


def plot(folder):
    """Let AIPerf plot the files of aiperfd; returns its exit status."""
    out = os.path.join(folder, "plots")
    shutil.rmtree(out, ignore_errors=True)
    command = [os.path.join(os.path.dirname(sys.executable), "aiperf"), "plot", "--paths", os.path.join(folder, "results"), "--output", out]
    with open(os.path.join(folder, "plot.log"), "w") as log:
        status = subprocess.run(command, cwd=folder, stdout=log, stderr=log, timeout=300).returncode
    pictures = [name for _, _, names in os.walk(out) for name in names if name.endswith(".png")]
    print(f"aiperf plot: exit status {status}, {len(pictures)} pictures")
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aiperfd", required=True)
    parser.add_argument("--vocabulary", required=True, help="folder with o200k_base.tiktoken")
    parser.add_argument("--work", required=True)
    options = parser.parse_args()
    options.aiperfd, options.work = os.path.abspath(options.aiperfd), os.path.abspath(options.work)
    sidebyside.keep_vocabulary(options)
    port = sidebyside.free_port()
    simulator = subprocess.Popen([options.aiperfd, "mock", "--port", str(port), "--preset", "tiny"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        sidebyside.wait_for(port)
        for tool in sidebyside.TOOLS:
            run(options, tool, os.path.join(options.work, tool), port)
    finally:
        simulator.terminate()
        simulator.wait(10)
    theirs, ours = (os.path.join(options.work, tool, "results") for tool in sidebyside.TOOLS)
    unknown = compare(theirs, ours)
    status = plot(os.path.join(options.work, "aiperfd"))
    print(f"{unknown} differences are not known")
    return 1 if unknown or status else 0


if __name__ == "__main__":
    sys.exit(main())
