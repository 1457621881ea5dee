#!/usr/bin/env bash
# Runs each workload of examples/workloads against the simulator, in the short form that
# its comment gives.
# Usage: scripts/e2e_workloads.sh AIPERFD
set -euo pipefail
aiperfd=$1
dir=$(mktemp -d)
"$aiperfd" mock --port 0 --port-file "$dir/port" --ttft 20ms --itl 2ms 2>"$dir/mock.log" >/dev/null &
mock=$!
trap 'kill "$mock"; wait "$mock" 2>/dev/null || true; rm -rf "$dir"' EXIT
for _ in $(seq 100); do [[ -s $dir/port ]] && break; sleep 0.1; done
url=http://127.0.0.1:$(cat "$dir/port")
for file in examples/workloads/*.yaml; do
  name=$(basename "$file" .yaml)
  short=() variables=()
  for word in $(sed -n 's/^# Short form: //p' "$file"); do
    case $word in [A-Z]*=*) variables+=("$word") ;; *) short+=("$word") ;; esac
  done
  start=$SECONDS
  env "${variables[@]}" timeout 120 "$aiperfd" profile --config "$file" --url "$url" --tokenizer builtin --ui none --artifact-dir "$dir/$name" "${short[@]}" >"$dir/out" 2>&1 ||
    { code=$?; echo "$name: exit $code"; cat "$dir/out"; exit 1; }
  [[ -n $(find "$dir/$name" -name profile_export_aiperf.json) ]] || { echo "$name: no results"; cat "$dir/out"; exit 1; }
  echo "$name: $((SECONDS - start)) s"
done
