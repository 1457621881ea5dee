#!/usr/bin/env bash
# vLLM's own routes, asked by curl as its documentation does: e2e_vllm.sh TARGET, the
# root of the simulated server. Answers are read by jq.
set -euo pipefail
target=$1
readonly target
readonly paris="The capital of France is Paris." brasilia="The capital of Brazil is Brasilia."
readonly france="What is the capital of France?" brazil="What is the capital of Brazil?"

# post PATH JQ-OF-THE-BODY ARGUMENT…: the answer. The arguments become $a, $b, … of it.
post() {
  local path=$1 body=$2 names=(a b c d) args=() value i=0
  shift 2
  for value; do args+=(--arg "${names[i++]}" "$value"); done
  jq -n "${args[@]}" "$body" | curl -sS --max-time 20 -X POST "$target$path" -H 'accept: application/json' \
    -H 'Content-Type: application/json' --data-binary @-
}

# holds WHAT JQ ANSWER: the condition is true of the answer.
holds() {
  jq -e "$2" <<<"$3" >/dev/null || { echo "$1: not so: $2: $3" >&2; exit 1; }
}

# listed WHAT ANSWER PREFIX: the members that all lists of vLLM have.
listed() {
  holds "$1" ".object == \"list\" and (.id | startswith(\"$3\")) and .model == \"some/model\" and (.created | type) == \"number\"" "$2"
  holds "$1" '[.data[].index] == [range(.data | length)]' "$2"
  holds "$1" '.usage.prompt_tokens > 0 and .usage.total_tokens == .usage.prompt_tokens' "$2"
}

score() {
  local path one many zip
  for path in /score /v1/score; do
    one=$(post "$path" '{model: "some/model", encoding_format: "float", text_1: $a, text_2: $b}' "$france" "$paris")
    listed "$path" "$one" score-
    holds "$path" '[.data[].object] == ["score"] and (.data[0].score > 0 and .data[0].score <= 1)' "$one"

    many=$(post "$path" '{model: "some/model", text_1: $a, text_2: [$b, $c]}' "$france" "$brasilia" "$paris")
    listed "$path 1×N" "$many" score-
    holds "$path 1×N" '(.data | length) == 2 and .data[1].score > .data[0].score and .data[0].score >= 0' "$many"
    holds "$path 1×N" ".data[1].score == $(jq '.data[0].score' <<<"$one")" "$many"

    zip=$(post "$path" '{model: "some/model", encoding_format: "float", text_1: [$a, $b], text_2: [$c, $d]}' "$brazil" "$france" "$brasilia" "$paris")
    listed "$path N×N" "$zip" score-
    holds "$path N×N" "(.data | length) == 2 and .data[1].score == $(jq '.data[0].score' <<<"$one")" "$zip"
    holds "$path N×N" ".data[0].score > $(jq '.data[0].score' <<<"$many")" "$zip"
    holds "$path 2×1" '.error.code == 400' "$(post "$path" '{model: "some/model", text_1: [$a, $b], text_2: [$a]}' a b)"
  done
}

rerank() {
  local path all top cows="Horses and cows are both animals"
  for path in /rerank /v1/rerank /v2/rerank; do
    all=$(post "$path" '{model: "some/model", query: $a, documents: [$b, $c, $d]}' "$france" "$brasilia" "$paris" "$cows")
    holds "$path" '(.id | startswith("rerank-")) and .model == "some/model" and .usage.total_tokens > 0' "$all"
    holds "$path" '[.results[].index] == [1, 0, 2]' "$all"
    holds "$path" "[.results[].document.text] == [\"$paris\", \"$brasilia\", \"$cows\"]" "$all"
    holds "$path" '[.results[].relevance_score] | . == (sort | reverse) and .[0] <= 1 and .[-1] >= 0 and .[0] > .[1]' "$all"
    top=$(post "$path" '{model: "some/model", query: $a, documents: [$b, $c, $d], top_n: 1}' "$france" "$brasilia" "$paris" "$cows")
    holds "$path top_n" ".results == $(jq -c '.results[:1]' <<<"$all")" "$top"
    holds "$path" '.error.code == 400 and .error.param == "documents"' "$(post "$path" '{model: "some/model", query: $a, documents: []}' "$france")"
  done
}

pooling() {
  local rows vector coded classes
  rows=$(post /pooling '{model: "some/model", input: [$a, "hello"]}' "$paris")
  listed /pooling "$rows" pool-
  holds /pooling '[.data[].object] == ["pooling", "pooling"]' "$rows"
  holds /pooling '([.data[].data | length] | add) == .usage.prompt_tokens' "$rows" # a vector for each token
  holds /pooling '[.data[].data[] | length] | unique | length == 1' "$rows"
  vector=$(post /pooling '{model: "some/model", input: $a, task: "embed", encoding_format: "float"}' "$paris")
  holds "/pooling embed" '[.data[0].data[] | . * .] | add | . > 0.9999 and . < 1.0001' "$vector"
  coded=$(post /pooling '{model: "some/model", input: $a, task: "embed", encoding_format: "base64"}' "$paris")
  # Four bytes a number.
  holds "/pooling base64" "(.data[0].data | type == \"string\") and (.data[0].data | length) == ($(jq '.data[0].data | length' <<<"$vector") * 16 / 3)" "$coded"
  holds "/pooling messages" '(.data | length) == 1' "$(post /pooling '{model: "some/model", messages: [{role: "user", content: $a}]}' "$paris")"

  classes=$(post /classify '{model: "some/model", input: ["vLLM is wonderful, the best, I love it", "what a terrible day"]}')
  listed /classify "$classes" classify-
  holds /classify '[.data[].label] == ["LABEL_1", "LABEL_0"]' "$classes"
  holds /classify 'all(.data[]; .num_classes == (.probs | length) and (.probs | add) > 0.999 and (.probs | add) < 1.001)' "$classes"
}

tokens() {
  local ids strs chat text="The capital of France is Paris, isn't it?  Grüße 東京"
  ids=$(post /tokenize '{model: "some/model", prompt: $a}' "$text")
  holds /tokenize '.count == (.tokens | length) and .count > 5 and .max_model_len > 0 and .token_strs == null' "$ids"
  holds /tokenize 'all(.tokens[]; type == "number" and . >= 0 and . == floor)' "$ids"
  strs=$(post /tokenize '{model: "some/model", prompt: "one two", return_token_strs: true}')
  holds "/tokenize return_token_strs" '(.token_strs | length) == .count and (.token_strs | add) == "one two"' "$strs"
  chat=$(post /tokenize '{model: "some/model", messages: [{role: "user", content: "one two"}]}')
  holds "/tokenize messages" '.count == (.tokens | length) and .count > 0' "$chat"
  holds /detokenize ".prompt == $(jq -n --arg t "$text" '$t')" "$(jq -c '{model: "some/model", tokens: .tokens}' <<<"$ids" |
    curl -sS --max-time 20 "$target/detokenize" -H 'Content-Type: application/json' --data-binary @-)"
  holds /detokenize '.error.code == 400 and .error.param == "tokens"' "$(post /detokenize '{model: "some/model", tokens: "x"}')"
}

for part in score rerank pooling tokens; do $part; done
echo "vLLM's score, rerank, pooling, classify and tokenizer routes answer as documented"
