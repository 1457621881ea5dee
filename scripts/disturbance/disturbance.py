#!/usr/bin/env python3
"""Does telemetry disturb the load? Measures the same load with telemetry off, on, and on with destinations that hang.

    scripts/disturbance/disturbance.py --aiperfd bin/aiperfd --work FOLDER [--streams 1000] [--rounds 15] [--seconds 10]

A simulated server answers every request with the same delay, so that everything above it in the time to the first
token was added by the machine: `added TTFT`. The streams begin one after the other, over the time that one request
takes, so that no wave of all of them decides the 99th percentile: requests start at an even rate from beginning to end.
Within each round the variants take turns:

    off, off2  no server metrics, no GPU telemetry, nothing asked of the kernel, nothing sent
    on         server and GPU metrics, path telemetry; OTLP metrics and traces, MLflow, remote write and a Pushgateway,
               all of which answer
    hanging    the same, with destinations that accept connections and are stopped (SIGSTOP), and in addition a page of
               metrics that drips a byte per second

Each quantity of a variant is divided by that of `off` in the same round. The table has the median of these ratios and
its interval of 95 % (bootstrap over the rounds). `off2` is the null: it differs from `off` by nothing but chance, so
that its interval says what the machine can tell. A bound holds if the whole interval is below it, or if the whole
interval of the difference is below --floor; it is broken if the whole interval is above; else it is not decided.

The exit status is 0 if all bounds hold, 1 if one is broken or a run ends more than seven seconds later than one without
telemetry, and 3 if something is not decided. The machine must be idle.
"""
import argparse
import http.server
import json
import os
import random
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

TTFT_MS, ITL_MS, TOKENS = 500, 50, 40
REQUEST_SECONDS = (TTFT_MS + ITL_MS * (TOKENS - 1)) / 1000
ENDS_WITHIN = 7  # seconds
LEAST_ROUNDS = 6  # below, the values themselves do not span an interval of 95 % for the median
VARIANTS = ("off", "off2", "on", "hanging")
JUDGED = ("schedule lag p99", "added TTFT p99")
SHOWN = ("schedule lag avg", "added TTFT avg", "CPU seconds")

# What is read of the answers of MLflow's API.
MLFLOW = json.dumps({
    "experiment_id": "1", "experiment": {"experiment_id": "1"},
    "run": {"info": {"run_id": "r", "artifact_uri": "mlflow-artifacts:/1/r/artifacts"}},
}).encode()


class Receiver(http.server.BaseHTTPRequestHandler):
    """Accepts whatever is sent, and answers as MLflow does."""

    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = MLFLOW if "/mlflow/" in self.path else b""
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


class Drip(http.server.BaseHTTPRequestHandler):
    """Sends a page of metrics, a byte per second."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        try:
            while True:
                self.wfile.write(b"#")
                self.wfile.flush()
                time.sleep(1)
        except OSError:
            pass

    def log_message(self, *_):
        pass


def serve(handler, port):
    http.server.ThreadingHTTPServer(("127.0.0.1", port), handler).serve_forever()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def child(arguments, port):
    """Start a process that listens at a port."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(300):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.1)
    process.kill()
    raise SystemExit(f"{arguments[0]} does not listen at port {port}")


def telemetry(variant, ports):
    if variant.startswith("off"):
        return ["--no-server-metrics", "--no-gpu-telemetry", "--no-path-telemetry"]
    to = f"http://127.0.0.1:{ports['stopped' if variant == 'hanging' else 'receiver']}"
    flags = ["--gpu-telemetry", f"http://127.0.0.1:{ports['server']}/dcgm/metrics", "--otel-url", to, "--otel-traces-url", to,
             "--mlflow-tracking-uri", to, "--prometheus-remote-write", to, "--push-gateway", to]
    if variant == "hanging":
        flags += ["--server-metrics", f"http://127.0.0.1:{ports['drip']}/metrics"]
    return flags


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # of children that have ended: the runs
    return used.ru_utime + used.ru_stime


def measure(options, variant, round_, ports):
    """Perform one run and return what it measured."""
    folder = os.path.join(options.work, f"{round_}-{variant}")
    shutil.rmtree(folder, ignore_errors=True)
    arguments = [
        options.aiperfd, "profile", "--model", "m", "--url", f"http://127.0.0.1:{ports['server']}", "--tokenizer", "builtin",
        "--streaming", "--isl", "100", "--osl", str(TOKENS), "--concurrency", str(options.streams),
        "--concurrency-ramp-duration", str(REQUEST_SECONDS), "--benchmark-duration", str(options.seconds),
        "--random-seed", str(42 + round_), "--ui", "none", "--artifact-dir", folder,
    ]
    began, used = time.monotonic(), cpu_seconds()
    out = subprocess.run(arguments + telemetry(variant, ports), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         timeout=options.seconds * 3 + 180)
    took, used = time.monotonic() - began, cpu_seconds() - used
    if out.returncode != 0:
        raise SystemExit(f"{variant}: exit status {out.returncode}\n{out.stdout.decode(errors='replace')[-3000:]}")
    with open(os.path.join(folder, "profile_export_aiperf.json")) as f:
        summary = json.load(f)
    with open(os.path.join(folder, "result.json")) as f:
        warnings = [w["code"] for w in json.load(f).get("notes") or []]
    lag, ttft = summary["schedule_lag"], summary["time_to_first_token"]
    return {
        "schedule lag p99": lag["p99"], "added TTFT p99": ttft["p99"] - TTFT_MS,
        "schedule lag avg": lag["avg"], "added TTFT avg": ttft["avg"] - TTFT_MS,
        "CPU seconds": used, "took": took, "requests": summary["request_count"]["avg"], "warnings": sorted(set(warnings)),
    }


def interval(values):
    """Return the median of values and its interval of 95 %, by a bootstrap with a fixed seed."""
    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(5000))
    return statistics.median(values), medians[124], medians[4874]


def judge(options, name, pairs):
    """Return what a bound is worth: pairs has the value of off and of the variant in each round."""
    _, low, high = interval([v / off for off, v in pairs])
    _, least, most = interval([v - off for off, v in pairs])
    if name not in JUDGED:
        return ""
    if len(pairs) < LEAST_ROUNDS:
        return "not decided"
    if high <= options.limit or most <= options.floor:
        return "holds"
    if low > options.limit and least > options.floor:
        return "BROKEN"
    return "not decided"


def report(options, rounds):
    """Print the table and return the exit status."""
    verdicts = set()
    print(f"\n{len(rounds)} rounds of {options.streams} streams for {options.seconds} s; times in ms; ratio to off of the same round, "
          f"with its interval of 95 %; the bound is {options.limit}, or {options.floor} ms")
    for name in JUDGED + SHOWN:
        for variant in VARIANTS:
            value = statistics.median(r[variant][name] for r in rounds)
            line = f"{name:17} {variant:8} {value:9.3f}"
            if variant != "off":
                pairs = [(r["off"][name], r[variant][name]) for r in rounds]
                line += "  ratio {:.3f} [{:.3f}, {:.3f}]".format(*interval([v / off for off, v in pairs]))
                line += "  difference {:+.3f} [{:+.3f}, {:+.3f}]".format(*interval([v - off for off, v in pairs]))
                if variant != "off2":
                    verdict = judge(options, name, pairs)
                    verdicts.add(verdict)
                    line += "  " + verdict
            print(line.rstrip())
    for variant in VARIANTS[2:]:
        later = max(r[variant]["took"] - r["off"]["took"] for r in rounds)
        if later > ENDS_WITHIN:
            verdicts.add("BROKEN")
        print(f"end later than off {variant:8} {later:6.1f} s at most{'  BROKEN' if later > ENDS_WITHIN else ''}")
        print(f"warnings           {variant:8} {', '.join(sorted({w for r in rounds for w in r[variant]['warnings']})) or '-'}")
    if "BROKEN" in verdicts:
        return 1
    return 3 if "not decided" in verdicts else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--aiperfd", required=True)
    p.add_argument("--work", required=True, help="folder for the results")
    p.add_argument("--streams", type=int, default=1000)
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--seconds", type=int, default=10)
    p.add_argument("--limit", type=float, default=1.05, help="largest ratio to the load without telemetry")
    p.add_argument("--floor", type=float, default=0.05, help="difference in ms below which a ratio does not matter")
    p.add_argument("--serve", nargs=2, metavar=("WHAT", "PORT"), help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.serve:
        return serve({"receiver": Receiver, "drip": Drip}[options.serve[0]], int(options.serve[1]))
    options.aiperfd = os.path.abspath(options.aiperfd)
    os.makedirs(options.work, exist_ok=True)
    own = [sys.executable, os.path.abspath(__file__), "--aiperfd", "-", "--work", options.work, "--serve"]
    ports = {name: free_port() for name in ("server", "receiver", "stopped", "drip")}
    processes = []
    try:
        mock = [options.aiperfd, "mock", "--port", str(ports["server"]), "--ttft", f"{TTFT_MS}ms", "--itl", f"{ITL_MS}ms"]
        processes.append(child(mock, ports["server"]))
        for name, what in (("receiver", "receiver"), ("stopped", "receiver"), ("drip", "drip")):
            processes.append(child(own + [what, str(ports[name])], ports[name]))
        processes[2].send_signal(signal.SIGSTOP)
        rounds = []
        for i in range(options.rounds):
            order = [VARIANTS[(i + k) % len(VARIANTS)] for k in range(len(VARIANTS))]  # each is first in turn
            rounds.append({v: measure(options, v, i, ports) for v in order})
            print(f"round {i + 1}: " + "; ".join(
                "{} lag {schedule lag p99:.3f} added {added TTFT p99:.3f} {took:.1f} s".format(v, **rounds[-1][v]) for v in VARIANTS), flush=True)
        return report(options, rounds)
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait(10)


if __name__ == "__main__":
    sys.exit(main())
