#!/usr/bin/env python3
"""Does telemetry disturb the load? Measures the same load with telemetry off, on, and on with destinations that hang.

    scripts/disturbance/disturbance.py --aiperfd bin/aiperfd --work FOLDER [--streams 1000] [--rounds 7] [--seconds 20]

A simulated server answers every request with the same delay, so that everything above it in the time to the first
token was added by the machine: `added TTFT`. The variants take turns within each round:

    off      no server metrics, no GPU telemetry, nothing asked of the kernel, nothing sent
    on       server and GPU metrics, path telemetry, OTLP metrics and traces to a collector that answers
    hanging  the same, with a collector that is stopped (SIGSTOP) and a page of metrics that drips a byte per second

The exit status is 1 if the median over the rounds of one of the ratios to `off` is above --limit and the difference
above --floor, or if a run ends more than seven seconds later than one without telemetry. The machine must be idle.
"""
import argparse
import http.server
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

TTFT_MS, ITL_MS, TOKENS = 500, 50, 40
ENDS_WITHIN = 7  # seconds
VARIANTS = ("off", "on", "hanging")


class Collector(http.server.BaseHTTPRequestHandler):
    """Accepts whatever is sent."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

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


def telemetry(variant, server, collector, drip):
    if variant == "off":
        return ["--no-server-metrics", "--no-gpu-telemetry", "--no-path-telemetry"]
    flags = ["--gpu-telemetry", f"http://127.0.0.1:{server}/dcgm/metrics", "--otel-url", f"http://127.0.0.1:{collector}",
             "--otel-traces-url", f"http://127.0.0.1:{collector}"]
    if variant == "hanging":
        flags += ["--server-metrics", f"http://127.0.0.1:{drip}/metrics"]
    return flags


def measure(options, variant, round_, server, collector, drip):
    """Perform one run and return what it measured."""
    folder = os.path.join(options.work, f"{round_}-{variant}")
    shutil.rmtree(folder, ignore_errors=True)
    arguments = [options.aiperfd, "profile", "--model", "m", "--url", f"http://127.0.0.1:{server}", "--tokenizer", "builtin", "--streaming",
                 "--isl", "100", "--osl", str(TOKENS), "--concurrency", str(options.streams), "--benchmark-duration", str(options.seconds),
                 "--random-seed", str(42 + round_), "--ui", "none", "--artifact-dir", folder]
    began = time.monotonic()
    out = subprocess.run(arguments + telemetry(variant, server, collector, drip), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         timeout=options.seconds * 3 + 180)
    took = time.monotonic() - began
    if out.returncode != 0:
        raise SystemExit(f"{variant}: exit status {out.returncode}\n{out.stdout.decode(errors='replace')[-3000:]}")
    with open(os.path.join(folder, "profile_export_aiperf.json")) as f:
        summary = json.load(f)
    with open(os.path.join(folder, "result.json")) as f:
        warnings = [w["code"] for w in json.load(f).get("warnings", [])]
    return {
        "schedule lag p99": summary["schedule_lag"]["p99"], "added TTFT p99": summary["time_to_first_token"]["p99"] - TTFT_MS,
        "took": took, "requests": summary["request_count"]["avg"], "warnings": sorted(set(warnings)),
    }


def report(options, rounds):
    """Print the table and return whether all bounds hold."""
    good = True
    print(f"\n{len(rounds)} rounds of {options.streams} streams for {options.seconds} s; ms; ratio = median over the rounds of the ratio to off")
    for name in ("schedule lag p99", "added TTFT p99"):
        base = statistics.median(r["off"][name] for r in rounds)
        for variant in VARIANTS:
            value = statistics.median(r[variant][name] for r in rounds)
            ratio = statistics.median(r[variant][name] / r["off"][name] for r in rounds)
            bad = ratio > options.limit and value - base > options.floor
            good = good and not bad
            print(f"{name:18} {variant:8} {value:9.3f}  ratio {ratio:5.3f}{'  ABOVE THE BOUND' if bad else ''}")
    for variant in VARIANTS[1:]:
        later = max(r[variant]["took"] - r["off"]["took"] for r in rounds)
        bad = later > ENDS_WITHIN
        good = good and not bad
        print(f"end later than off {variant:8} {later:6.1f} s at most{'  ABOVE THE BOUND' if bad else ''}")
        print(f"warnings           {variant:8} {', '.join(sorted({w for r in rounds for w in r[variant]['warnings']})) or '-'}")
    return good


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--aiperfd", required=True)
    p.add_argument("--work", required=True, help="folder for the results")
    p.add_argument("--streams", type=int, default=1000)
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--seconds", type=int, default=20)
    p.add_argument("--limit", type=float, default=1.05, help="largest ratio to the load without telemetry")
    p.add_argument("--floor", type=float, default=0.05, help="difference in ms below which a ratio does not matter")
    p.add_argument("--serve", nargs=2, metavar=("WHAT", "PORT"), help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.serve:
        return serve({"collector": Collector, "drip": Drip}[options.serve[0]], int(options.serve[1]))
    options.aiperfd = os.path.abspath(options.aiperfd)
    os.makedirs(options.work, exist_ok=True)
    own = [sys.executable, os.path.abspath(__file__), "--aiperfd", "-", "--work", options.work, "--serve"]
    ports = {name: free_port() for name in ("server", "collector", "stopped", "drip")}
    processes = []
    try:
        processes.append(child([options.aiperfd, "mock", "--port", str(ports["server"]), "--ttft", f"{TTFT_MS}ms", "--itl", f"{ITL_MS}ms"], ports["server"]))
        for name, what in (("collector", "collector"), ("stopped", "collector"), ("drip", "drip")):
            processes.append(child(own + [what, str(ports[name])], ports[name]))
        processes[2].send_signal(signal.SIGSTOP)
        rounds = []
        for i in range(options.rounds):
            order = [VARIANTS[(i + k) % len(VARIANTS)] for k in range(len(VARIANTS))]  # each is first in turn
            rounds.append({v: measure(options, v, i, ports["server"], ports["stopped" if v == "hanging" else "collector"], ports["drip"]) for v in order})
            print(f"round {i + 1}: " + "; ".join(
                f"{v} lag {rounds[-1][v]['schedule lag p99']:.3f} added {rounds[-1][v]['added TTFT p99']:.3f} {rounds[-1][v]['took']:.1f} s" for v in VARIANTS), flush=True)
        return 0 if report(options, rounds) else 1
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait(10)


if __name__ == "__main__":
    sys.exit(main())
