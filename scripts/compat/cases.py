"""What is compared: the arguments that both tools get, and which measures may differ.

FILE is replaced by the folder of the inputs. A difference that is not listed
fails the comparison; docs/compatibility.md gives the reasons of those listed.
"""
import dataclasses

TRACE = "--fixed-schedule --fixed-schedule-auto-offset"


@dataclasses.dataclass
class Case:
    arguments: str
    endpoint: str = "chat"
    only_ours: str = ""  # arguments of aiperfd alone
    differs: tuple = ()
    text: str = "law"  # how prompts agree: same (each one), or law (lengths only)
    trace: str = ""  # the file whose timestamps and hash ids both must follow
    speedup: float = 1


def file(name, kind, more, **rest):
    return Case(f"--input-file FILE/{name} --custom-dataset-type {kind} {more}", **{"text": "same", **rest})


CASES = {
    # the five of the issue
    "synthetic": Case("--conversation-num 300 --conversation-turn-mean 3 --conversation-turn-stddev 1 --isl 128 --isl-stddev 32 "
                      "--osl 32 --osl-stddev 8 --concurrency 8", differs=("requests", "turns", "isl_with_history")),
    "single_turn": file("single_turn.jsonl", "single_turn", "--concurrency 1 --osl 17 --request-count 240"),
    "multi_turn": file("multi_turn.jsonl", "multi_turn", "--concurrency 1 --request-count 300"),
    "mooncake": file("mooncake.jsonl", "mooncake_trace", TRACE, text="law", trace="mooncake.jsonl"),
    "random_pool": file("pool", "random_pool", "--conversation-num 200 --concurrency 4", text="law"),
    # lengths
    "lengths": Case("--isl 200 --isl-stddev 60 --osl 50 --osl-stddev 20 --request-count 1500 --concurrency 8"),
    "pairs": Case("--seq-dist 64|8,16|5:60;256|20,48|12:40 --request-count 800 --concurrency 8"),
    "ratio": Case("--random-range-ratio 0.25 --isl 200 --osl 100 --request-count 600 --concurrency 8", text="law"),
    "vllm": Case("--prompt-corpus random --random-range-ratio 0.25 --isl 40 --osl 20 --conversation-num 32 --concurrency 1", text="same"),
    "vllm_completions": Case("--prompt-corpus random --random-range-ratio 0.25 --isl 40 --osl 20 --conversation-num 32 --concurrency 1",
                             endpoint="completions", text="same"),
    "sglang": Case("--prompt-corpus random --random-corpus-style sglang --random-range-ratio 0.25 --isl 40 --osl 20 "
                   "--conversation-num 32 --concurrency 1", text="same", differs=("bodies",)),
    "turn_delay": Case("--conversation-num 60 --conversation-turn-mean 3 --conversation-turn-delay-mean 80 "
                       "--conversation-turn-delay-stddev 20 --isl 20 --osl 4 --concurrency 30"),
    # prefixes and caches
    "prefix_pool": Case("--prompt-prefix-pool-size 4 --prompt-prefix-length 60 --isl 50 --osl 8 --request-count 200 --concurrency 4"),
    "contexts": Case("--shared-system-prompt-length 40 --user-context-prompt-length 30 --conversation-num 40 "
                     "--conversation-turn-mean 2 --isl 50 --osl 8 --concurrency 4"),
    **{"bust_" + target.replace("-", "_"): Case(
        f"--cache-bust {target} {more} --conversation-num 20 --conversation-turn-mean 2 --isl 50 --osl 8 --concurrency 4")
        for target, more in (("first-turn-prefix", ""), ("first-turn-suffix", ""),
                             ("system-prefix", "--shared-system-prompt-length 40"),
                             ("system-suffix", "--shared-system-prompt-length 40"))},
    # other files
    "detected": Case("--input-file FILE/single_turn.jsonl --concurrency 1", text="same"),
    "detected_turns": Case("--input-file FILE/multi_turn.jsonl --concurrency 1", text="same"),
    "pool_of_images": file("pool.jsonl", "random_pool", "--conversation-num 200 --concurrency 4", text="law"),
    "timed": file("timed.jsonl", "single_turn", TRACE, trace="timed.jsonl"),
    "timed_window": file("timed.jsonl", "single_turn", "--fixed-schedule --fixed-schedule-start-offset 1500 --fixed-schedule-end-offset 2500",
                         text="law", differs=("requests", "sessions", "turns")),
    "mooncake_window": file("mooncake.jsonl", "mooncake_trace",
                            "--fixed-schedule --fixed-schedule-start-offset 6000 --fixed-schedule-end-offset 8000", text="law"),
    "mooncake_fast": file("mooncake.jsonl", "mooncake_trace", TRACE + " --synthesis-speedup-ratio 10", text="law",
                          trace="mooncake.jsonl", speedup=10),
    "mooncake_loop": file("mooncake.jsonl", "mooncake_trace", "--no-fixed-schedule --concurrency 4 --request-count 200", text="law"),
    "mooncake_lengths": file("mooncake_lengths.jsonl", "mooncake_trace", "--fixed-schedule", text="law", trace="mooncake_lengths.jsonl"),
    "mooncake_text": file("mooncake_text.jsonl", "mooncake_trace", TRACE),
    "mooncake_messages": file("mooncake_messages.jsonl", "mooncake_trace", "--fixed-schedule", trace="mooncake_messages.jsonl"),
    "bailian": file("bailian.jsonl", "bailian_trace", TRACE, text="law",
                    differs=("isl_with_history", "roles", "constants")),
    "burst_gpt": file("burst.csv", "burst_gpt_trace", TRACE, text="law"),
    "raw_payload": file("raw.jsonl", "raw_payload", "--concurrency 1 --request-count 30"),
    "raw_folder": file("raw", "raw_payload", "--concurrency 1 --request-count 18"),
    "inputs_json": file("inputs.json", "inputs_json", "--concurrency 1 --request-count 24"),
    "baseten": file("baseten.parquet", "baseten_trace", TRACE, endpoint="completions"),
    "baseten_arrow": file("baseten.arrow", "baseten_trace", TRACE, endpoint="completions"),
    "sagemaker": file("sagemaker.jsonl", "sagemaker_data_capture", "--fixed-schedule"),
    "sharegpt": Case("--public-dataset sharegpt --concurrency 1 --request-count 40", text="same",
                     only_ours="--input-file .cache/aiperf/datasets/ShareGPT_V3_unfiltered_cleaned_split.json"),
}
