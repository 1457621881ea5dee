#!/usr/bin/env bash
# A tour of the API with curl. It starts a simulated server and a daemon on free
# ports, runs a benchmark and shows the answers of the API.
# Usage: examples/tour.sh [path of aiperfd, default bin/aiperfd]
set -euo pipefail
aiperfd=${1:-bin/aiperfd}
dir=$(mktemp -d)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$dir"
}
trap cleanup EXIT

# port_of waits for a port file and prints the port.
port_of() {
  for _ in $(seq 100); do
    [[ -s $1 ]] && cat "$1" && return
    sleep 0.1
  done
  echo "no port in $1" >&2
  return 1
}
show() {
  echo
  echo "\$ curl $*"
  curl -sS --fail-with-body "$@"
  echo
}

"$aiperfd" mock --port 0 --port-file "$dir/mock" --ttft 60ms --itl 10ms >/dev/null 2>"$dir/mock.log" &
pids+=($!)
"$aiperfd" serve --api-port 0 --port-file "$dir/api" --data-dir "$dir/data" 2>"$dir/serve.log" &
pids+=($!)
target=http://127.0.0.1:$(port_of "$dir/mock")
api=http://127.0.0.1:$(port_of "$dir/api")

show "$api/readyz"
show "$api/api/version"

cat >"$dir/bench.yaml" <<YAML
metadata: {name: tour}
benchmark:
  model: tour-model
  endpoint: {url: "$target", streaming: true}
  dataset: {type: synthetic, entries: 50, isl: 100, osl: 20}
  tokenizer: {name: builtin}
  phases:
    - {name: profiling, kind: profiling, type: poisson, rate: 20, duration: 3}
YAML

# A document can be checked without running it …
show "$api/api/validate" -H 'Content-Type: application/yaml' --data-binary "@$dir/bench.yaml"

# … and submitted. The response contains the id of the run.
answer=$(curl -sS --fail-with-body "$api/api/runs" -H 'Content-Type: application/yaml' --data-binary "@$dir/bench.yaml")
id=$(grep -oE '"id": *"[0-9a-f]{32}"' <<<"$answer" | head -n 1 | grep -oE '[0-9a-f]{32}')
echo
echo "run $id"

state() { curl -sS "$api/api/runs/$id" | grep -oE '"state": *"[a-z]+"' | head -n 1 | grep -oE '[a-z]+"$' | tr -d '"'; }
for _ in $(seq 120); do
  now=$(state)
  case $now in completed | failed | cancelled) break ;; esac
  sleep 0.5
done
echo "state $now"

show "$api/api/runs/$id/progress"
show "$api/api/runs/$id/results/list"
show "$api/api/runs/$id/results/files/profile_export_console.txt"
show "$api/metrics?names=native" | grep -E '^(\$|aiperf_requests_total|aiperfd_build_info)' || true
[[ $now == completed ]]
