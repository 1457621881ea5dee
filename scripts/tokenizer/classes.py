#!/usr/bin/env python3
"""Write internal/engine/tokenizer/pattern/classes.bin.

The Unicode classes that a tokenizer sees are those of the reference
implementation (Python package `tokenizers`), not those of the Go release that
happens to build us. This script asks the reference about every code point and
writes the answers as one run-length table of property sets and one table of
lower-case mappings. The names of the properties are those of the constants in
pattern/classes.go, in the same order.

    pip install tokenizers==0.23.3
    python3 scripts/tokenizer/classes.py > internal/engine/tokenizer/pattern/classes.bin

It takes about a minute. Regenerate together with the goldens (fixtures.py).
"""
import sys

import tokenizers
from tokenizers import Regex, normalizers as N, pre_tokenizers as P

CPS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
TEXT = "".join(map(chr, CPS))
# Every code point between two letters, for splitters that isolate one.
BETWEEN = "a" + "a".join(map(chr, CPS)) + "a"

# Code points with decompositions that are newer than the reference's
# normalization tables: it leaves them alone, golang.org/x/text does not (or
# will not, in its Unicode 17 tables). Found by comparing both on every code point.
NEWER = [
    (0x32FF, 0x32FF), (0xA7F1, 0xA7F4), (0xAB69, 0xAB69), (0x105C9, 0x105C9),
    (0x105E4, 0x105E4), (0x10781, 0x10785), (0x10787, 0x107B0), (0x107B2, 0x107BA),
    (0x11383, 0x11385), (0x1138E, 0x1138E), (0x11391, 0x11391), (0x113C5, 0x113C8),
    (0x16121, 0x16128), (0x16D68, 0x16D6A), (0x1CCD6, 0x1CCF9), (0x1E030, 0x1E06D),
    (0x1F16C, 0x1F16C), (0x1FBF0, 0x1FBF9),
]


def removed(pre):
    kept = set()
    for piece, _ in pre.pre_tokenize_str(TEXT):
        kept.update(piece)
    return {c for c in CPS if chr(c) not in kept}


def category(name):
    return removed(P.Split(Regex(r"\p{%s}" % name), "removed"))


def isolated(pre):
    return {ord(p) for p, _ in pre.pre_tokenize_str(BETWEEN) if len(p) == 1 and p != "a"}


def dropped(norm):
    return {c for c in CPS if norm.normalize_str(chr(c)) == ""}


def word():
    """Code points of \\w in the `Whitespace` pre-tokenizer."""
    pieces = P.Whitespace().pre_tokenize_str(BETWEEN)
    other = {ord(p) for p, _ in pieces if len(p) == 1 and p != "a"}
    seen = set().union(*(p for p, _ in pieces))
    return {c for c in CPS if chr(c) in seen and c not in other}


def bert(**kw):
    flags = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return N.BertNormalizer(**(flags | kw))


def properties():
    mark = category("M")
    accent = dropped(N.StripAccents())
    newer = {c for a, b in NEWER for c in range(a, b + 1)} | (mark - accent)
    return [
        ("PropLu", category("Lu")), ("PropLl", category("Ll")), ("PropLt", category("Lt")),
        ("PropLm", category("Lm")), ("PropLo", category("Lo")), ("PropM", mark),
        ("PropN", category("N")), ("PropP", category("P")), ("PropS", category("S")),
        ("PropSpace", removed(P.WhitespaceSplit())), ("PropWord", word()),
        ("PropPunct", removed(P.Punctuation("removed"))),
        ("PropNumeric", isolated(P.Digits(individual_digits=True))),
        ("PropControl", dropped(bert(clean_text=True))),
        ("PropAccent", accent), ("PropBertAccent", dropped(bert(strip_accents=True))),
        ("PropNewer", newer),
        # \w and \d of the regular expression engine, a little different from \w above.
        ("PropRegexWord", removed(P.Split(Regex(r"\w"), "removed"))),
        ("PropRegexDigit", removed(P.Split(Regex(r"\d"), "removed"))),
    ]


def runs(props):
    sets = [0] * 0x110000
    for bit, (_, members) in enumerate(props):
        for c in members:
            sets[c] |= 1 << bit
    out = []
    for value in sets:
        if out and out[-1][1] == value:
            out[-1][0] += 1
        else:
            out.append([1, value])
    return out


def lower_ranges():
    """[first, last, step, delta] of one-to-one mappings, in order."""
    n, out = N.Lowercase(), []
    for c in CPS:
        low = n.normalize_str(chr(c))
        if len(low) != 1 or ord(low) == c:
            continue
        d = ord(low) - c
        if out and out[-1][3] == d and c - out[-1][1] in (1, 2) and \
                (out[-1][0] == out[-1][1] or out[-1][2] == c - out[-1][1]):
            out[-1][2] = c - out[-1][1]
            out[-1][1] = c
        else:
            out.append([c, c, 1, d])
    return out


def packed(numbers):
    """Varints of seven bits a byte, the lowest ones first."""
    out = bytearray()
    for n in numbers:
        while n >= 0x80:
            out.append(n & 0x7F | 0x80)
            n >>= 7
        out.append(n)
    return bytes(out)


def zigzag(n):
    return 2 * n if n >= 0 else -2 * n - 1


def main():
    table = runs(properties())
    kinds = sorted({v for _, v in table})
    index = {v: i for i, v in enumerate(kinds)}
    assert len(kinds) <= 256
    low = lower_ranges()
    numbers = [len(kinds), *kinds, len(table)]
    for n, value in table:
        numbers += [n, index[value]]
    numbers.append(len(low))
    for first, last, step, delta in low:
        numbers += [first, last, step, zigzag(delta)]
    sys.stdout.buffer.write(packed(numbers))


if __name__ == "__main__":
    main()
