#!/usr/bin/env python3
"""Write integers that NumPy draws, as test vectors of its two generators.

    pip install numpy
    python3 scripts/dataset/numpy_arrays.py > internal/engine/dataset/random/testdata/numpy.json
"""

import hashlib
import json

import numpy as np

ARRAYS = [(0, 9, 7), (5, 5, 3), (1, 512, 5), (0, 200018, 9000), (0, 2**31 - 2, 20000), (3, 2**30 + 5, 10001)]


def drawn(draw):
    """Return the arrays that draw(low, high, size) makes one after the other."""
    arrays = []
    for low, high, n in ARRAYS:
        a = draw(low, high + 1, size=n).tolist()
        sha = hashlib.sha256(",".join(map(str, a)).encode()).hexdigest()[:16]
        arrays.append({"low": low, "high": high, "n": n, "first": a[:5], "last": a[-3:], "sha": sha})
    return arrays


def main():
    out = {"numpy": np.__version__, "pcg64": [], "mt19937": []}
    for seed in [0, 1, 42, 2**32 - 1, 2**32, 2**63 + 12345, 2**64 - 1]:
        raw = [str(v) for v in np.random.PCG64(seed).random_raw(4).tolist()]
        arrays = drawn(np.random.default_rng(seed).integers)
        out["pcg64"].append({"seed": str(seed), "raw": raw, "arrays": arrays})
    for seed in [0, 1, 42, 2**32 - 1]:
        np.random.seed(seed)
        out["mt19937"].append({"seed": str(seed), "arrays": drawn(np.random.randint)})
    text = json.dumps(out)
    print(text.replace('{"seed"', '\n{"seed"').replace('{"low"', '\n  {"low"'))


if __name__ == "__main__":
    main()
