#!/usr/bin/env python3
"""Run the commands of AIPerf's guides on server metrics, GPU telemetry, OpenTelemetry and MLflow on real sockets.

    scripts/compat/guides.py --aiperfd bin/aiperfd --work FOLDER [--otelcol FILE] [--mlflow FILE]

The commands are those of internal/engine/testdata/aiperf/commands.txt; only the addresses in them are replaced. They
load the simulator, which is also the exporter of GPU metrics. Metrics go to the OpenTelemetry Collector that
scripts/otelcol.sh builds, and results to `mlflow server`; without these, to a server that accepts everything. The exit
status is 1 if a command does not end with 0, lacks a file, or has a warning about what it reads or sends.
"""
import argparse
import http.server
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "..", "internal", "engine", "testdata", "aiperf")
PAGES = ("docs/tutorials/gpu-telemetry.md", "docs/server-metrics/server-metrics.md", "docs/tutorials/server-metrics.md",
         "docs/tutorials/otel-mlflow.md")
PORTS = {"server": 18000, "otel": 14318, "mlflow": 15000}
NO_GPU = ("pynvml", "amdsmi")  # a machine without a GPU has nothing to read


def commands():
    page = ""
    with open(os.path.join(DATA, "commands.txt")) as f:
        for line in f:
            kind, _, rest = line.strip().partition(" ")
            if kind == "=":
                page = rest
            elif kind == "+" and page in PAGES:
                yield page, shlex.split(rest)


def local(word, parent):
    """A word of a command with local addresses."""
    server = f"127.0.0.1:{PORTS['server']}"
    if word == "abc123def456":
        return parent
    word = word.replace("localhost:4318", f"127.0.0.1:{PORTS['otel']}").replace("localhost:5000", f"127.0.0.1:{PORTS['mlflow']}")
    word = re.sub(r"^(http://)?(node\d|localhost):9400(/metrics)?$", rf"\g<1>{server}/dcgm/metrics", word)
    word = re.sub(r"^(http://)?(localhost|node-?\d|head-node):(8081|8002|9007|9009)(/metrics)?$", rf"\g<1>{server}/metrics", word)
    return re.sub(r"^(http://)?(localhost|node-\d|head-node):8000", rf"\g<1>{server}", word)


class Accepting(http.server.BaseHTTPRequestHandler):
    """Accepts whatever is sent, and answers questions of MLflow's clients."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        text = json.dumps({"experiment_id": "1", "run": {"info": {"run_id": "a" * 32, "artifact_uri": "mlflow-artifacts:/1/a/artifacts"}}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_PUT = do_PATCH = do_GET = do_POST

    def log_message(self, *_):
        pass


def reachable(url):
    for _ in range(600):
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"{url} does not answer")


def start(arguments, url, log):
    process = subprocess.Popen(arguments, stdout=open(log, "w"), stderr=subprocess.STDOUT)
    reachable(url)
    return process


def serve(options, processes):
    """Start what the commands talk to."""
    def url(name):
        return f"http://127.0.0.1:{PORTS[name]}"

    def log(name):
        return os.path.join(options.work, name + ".log")

    processes.append(start([options.aiperfd, "mock", "--port", str(PORTS["server"]), "--ttft", "2ms", "--itl", "0.2ms"], url("server") + "/health", log("mock")))
    if options.otelcol:
        config = os.path.join(options.work, "otelcol.yaml")
        with open(config, "w") as f:
            f.write(f"receivers: {{otlp: {{protocols: {{http: {{endpoint: '127.0.0.1:{PORTS['otel']}'}}}}}}}}\n"
                    "exporters: {debug: {}}\n"
                    "service: {telemetry: {metrics: {level: none}}, pipelines: {metrics: {receivers: [otlp], exporters: [debug]}}}\n")
        processes.append(start([options.otelcol, "--config", config], url("otel"), log("otelcol")))
    else:
        accept("otel")
    if options.mlflow:
        processes.append(start([options.mlflow, "server", "--port", str(PORTS["mlflow"]), "--backend-store-uri", f"sqlite:///{options.work}/mlflow.db",
                                "--artifacts-destination", f"{options.work}/mlartifacts", "--workers", "1"], url("mlflow") + "/health", log("mlflow")))
    else:
        accept("mlflow")


def accept(name):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORTS[name]), Accepting)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def parent_run(real):
    """A run of MLflow that others can be children of."""
    if not real:
        return "b" * 32
    api = f"http://127.0.0.1:{PORTS['mlflow']}/api/2.0/mlflow/"

    def ask(path, body):
        request = urllib.request.Request(api + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    experiment = ask("experiments/create", {"name": "my-sweep"})["experiment_id"]
    return ask("runs/create", {"experiment_id": experiment, "start_time": int(time.time() * 1000)})["run"]["info"]["run_id"]


def wanted(words):
    """The files that a command must write."""
    if "--profile-export-prefix" in words or "--profile-export-file" in words:
        return ["my_benchmark_server_metrics.json"]
    out = [] if "--no-server-metrics" in words else ["server_metrics_export.json"]
    if "jsonl" in words:
        out += ["server_metrics_export.jsonl", "server_metrics_export.parquet"]
    if "--mlflow-tracking-uri" in words:
        out.append("mlflow_export.json")
    if any("/dcgm/metrics" in word for word in words):
        out.append("gpu_telemetry_export.jsonl")
    return out


def perform(options, number, words):
    """Run one command and return what is wrong with it."""
    folder = os.path.join(options.work, f"{number:02}")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    shutil.copy(os.path.join(DATA, "custom_gpu_metrics.csv"), folder)
    began = time.monotonic()
    done = subprocess.run([options.aiperfd, "profile", *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=300)
    print(f"{number:2} exit {done.returncode} {time.monotonic() - began:5.1f} s  {shlex.join(words)}", flush=True)
    files = [name for _, _, names in os.walk(folder) for name in names]
    wrong = [] if done.returncode == 0 else [f"exit status {done.returncode}: {done.stdout[-1000:]}"]
    wrong += [f"no {name}" for name in wanted(words) if name not in files]
    if not any(word in NO_GPU for word in words):
        wrong += [line for line in done.stdout.splitlines() if re.search(r"no (GPU|server) metrics|incomplete|mlflow.*(fail|not)", line, re.I)]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aiperfd", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--otelcol", help="OpenTelemetry Collector")
    parser.add_argument("--mlflow", help="the program mlflow")
    options = parser.parse_args()
    options.aiperfd, options.work = os.path.abspath(options.aiperfd), os.path.abspath(options.work)
    os.makedirs(options.work, exist_ok=True)
    processes, bad, number = [], 0, 0
    try:
        serve(options, processes)
        parent = parent_run(options.mlflow)
        for _, words in commands():
            words = [local(word, parent) for word in words]
            if "--url" not in words:
                words += ["--url", f"127.0.0.1:{PORTS['server']}"]  # in place of localhost:8000, where AIPerf looks
            number += 1
            for problem in perform(options, number, words):
                bad += 1
                print("   " + problem)
    finally:
        for process in processes:
            process.terminate()
            process.wait(20)
    print(f"{number} commands, {bad} problems")
    return 1 if bad or number < 25 else 0


if __name__ == "__main__":
    sys.exit(main())
