#!/usr/bin/env python3
"""Runs on several load generators, on real sockets, against a simulated server that keeps a record of its own.

  cluster.py --aiperfd bin/aiperfd --work DIR worker       # a load generator is killed at a random moment
  cluster.py --aiperfd bin/aiperfd --work DIR controller   # the controller is killed
  cluster.py --aiperfd bin/aiperfd --work DIR arrivals     # four load generators send the arrivals of one

It prints a line per round and fails if a bound is missed.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

LOST_AFTER = 10  # seconds, the default of documents


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Round:
    """A simulated server, a controller and its load generators."""

    def __init__(self, bin, work, names):
        self.bin, self.dir, self.names = bin, work, names
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self.truth = work / "truth.jsonl"
        self.port, self.bus = free_port(), free_port()
        self.processes = {}
        self.start("mock", "mock", "--port", str(self.port), "--ttft", "60ms", "--itl", "2ms", "--truth", str(self.truth))
        token = subprocess.run([self.bin, "token", "new", "--name", "fleet", "--scope", "worker", "--max-workers", "16",
                                "--file", str(work / "tokens")], capture_output=True, text=True, check=True)
        (work / "token").write_text(token.stdout)

    def start(self, name, *args):
        out = open(self.dir / f"{name}.log", "w")
        self.processes[name] = subprocess.Popen([self.bin, *args], stdout=out, stderr=out)

    def profile(self, workers, *args):
        self.start("controller", "profile", "--model", "m", "--url", f"localhost:{self.port}", "--streaming",
                   "--tokenizer", "builtin", "--isl", "32", "--osl", "8", "--random-seed", "5", "--ui", "simple",
                   "--artifact-dir", str(self.dir / "out"), "--workers", str(workers), "--bus-listen",
                   f"127.0.0.1:{self.bus}", "--bus-token-file", str(self.dir / "tokens"), *args)
        for name in self.names:
            self.start(name, "worker", "--join", f"nats://127.0.0.1:{self.bus}", "--token-file", str(self.dir / "token"),
                       "--name", name, "--data-dir", str(self.dir / "data" / name), "--once")

    def await_load(self):
        """Waits for the first request."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if self.truth.exists() and self.truth.stat().st_size:
                return
            time.sleep(0.05)
        raise SystemExit("no request within a minute: see " + str(self.dir))

    def wait(self, name, seconds):
        return self.processes[name].wait(timeout=seconds)

    def kill(self, name):
        self.processes[name].send_signal(signal.SIGKILL)

    def close(self):
        for p in self.processes.values():
            if p.poll() is None:
                p.terminate()
        for p in self.processes.values():
            try:
                p.wait(timeout=10)
            except subprocess.TimeoutExpired:
                p.kill()

    def requests(self):
        """The instants, in seconds, at which requests of the load came to the server."""
        lines = (json.loads(line) for line in self.truth.read_text().splitlines())
        return sorted(line["accept_ns"] / 1e9 for line in lines if line.get("accept_ns"))

    def result(self):
        return json.loads((self.dir / "out" / "result.json").read_text())


def worker(o, i, rng):
    policy = ["abort", "continue"][i % 2]
    r = Round(o.aiperfd, o.work / "round", ["a", "b", "c"])
    try:
        r.profile(3, "--request-rate", "40", "--arrival-pattern", "constant", "--benchmark-duration", "14",
                  "--on-worker-lost", policy)
        r.await_load()
        at = rng.uniform(0.1, 9)
        time.sleep(at)
        victim = rng.choice(r.names)
        r.kill(victim)
        code = r.wait("controller", 90)
        for name in r.names:
            if name != victim:
                r.wait(name, 30)
        k = r.result()["cluster"]["conservation"]
        seen = len(r.requests())
    finally:
        r.close()
    said = f"{policy:8} {victim} killed after {at:4.1f} s: exit {code}, server saw {seen}, {json.dumps(k)}"
    if not k["holds"] or not k["sent"] <= seen <= k["sent"] + k["unknown"]:
        raise SystemExit(said + "\nthe counts do not hold")
    arrivals = 14 * 40 - 1
    total = k["sent"] + k["unknown"] + k["not_sent"]
    if policy == "continue" and abs(total - arrivals) > 1 or (code != 0) != (policy == "abort"):
        raise SystemExit(said + f"\nexpected {arrivals} arrivals, and an exit code of the policy")
    return said


def controller(o, i, rng):
    r = Round(o.aiperfd, o.work / "round", ["a", "b"])
    try:
        r.profile(2, "--request-rate", "40", "--benchmark-duration", "120")
        r.await_load()
        at = rng.uniform(0.1, 6)
        time.sleep(at)
        r.kill("controller")
        killed = time.time()
        codes = [r.wait(name, 90) for name in r.names]
        ended = time.time() - killed
        last = r.requests()[-1] - killed
        leftover = (r.dir / "out" / ".aiperf_results_ready.json").exists()
    finally:
        r.close()
    said = f"killed after {at:4.1f} s: last request {last:4.1f} s later, workers ended after {ended:4.1f} s with {codes}"
    if last > LOST_AFTER - 1 + 0.5 or leftover or 0 in codes:
        raise SystemExit(said + f"\nload went on, or something is marked as ready: {leftover}")
    return said


def arrivals(o, i, rng):
    pattern, rate, seconds = ["poisson", "gamma"][i % 2], 400, 30
    r = Round(o.aiperfd, o.work / "round", ["a", "b", "c", "d"])
    try:
        extra = ["--arrival-smoothness", "4"] if pattern == "gamma" else []
        r.profile(4, "--request-rate", str(rate), "--arrival-pattern", pattern, "--benchmark-duration", str(seconds), *extra)
        r.wait("controller", 180)
        result = r.result()
        times = r.requests()
    finally:
        r.close()
    shape = 4 if pattern == "gamma" else 1
    gaps = [b - a for a, b in zip(times, times[1:])]
    stat = anderson_darling(gaps, lambda x: erlang(shape, shape * rate * x))
    shares = collections.Counter(w["requests"] for w in result["cluster"]["workers"])
    said = (f"{pattern}: {len(times)} arrivals, mean gap {statistics.mean(gaps) * 1e3:.3f} ms (asked {1e3 / rate:.3f}), "
            f"Anderson–Darling {stat:.2f} (1 % limit 3.86), requests of the load generators {sorted(shares.elements())}")
    if stat > 3.86:
        raise SystemExit(said)
    return said


def erlang(k, x):
    """Returns the distribution function of an Erlang distribution of shape k and rate 1."""
    return 1 - math.exp(-x) * sum(x**n / math.factorial(n) for n in range(k))


def anderson_darling(values, cdf):
    """Returns the statistic of a sample against a known distribution (Stephens, 1974)."""
    u = sorted(min(max(cdf(x), 1e-12), 1 - 1e-12) for x in values)
    n = len(u)
    return -n - sum((2 * i + 1) * (math.log(u[i]) + math.log(1 - u[n - 1 - i])) for i in range(n)) / n


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--aiperfd", type=os.path.abspath, required=True)
    p.add_argument("--work", type=pathlib.Path, required=True)
    p.add_argument("--rounds", type=int, default=4)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("what", choices=["worker", "controller", "arrivals"])
    o = p.parse_args()
    rng = random.Random(o.seed)
    for i in range(o.rounds):
        print(i + 1, globals()[o.what](o, i, rng), flush=True)


if __name__ == "__main__":
    sys.exit(main())
