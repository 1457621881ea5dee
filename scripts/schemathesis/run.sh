#!/usr/bin/env bash
# Tests a running daemon against its own API document with schemathesis, without and with
# tokens: run.sh BINARY [EXAMPLES per operation]. Needs Python 3.10 or newer. Streams
# (/ws, /api/events) and the shutdown are left out.
set -euo pipefail
bin=$(realpath "$1")
examples=${2:-30}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd "$work" # schemathesis writes reports and a cache into the current folder
daemon=
finish() {
  [[ -z $daemon ]] || kill "$daemon" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap finish EXIT

tool=$(command -v schemathesis) || {
  python3 -m venv "$work/venv"
  "$work/venv/bin/pip" install --quiet schemathesis
  tool=$work/venv/bin/schemathesis
}

# test NAME [ARGS…]: a daemon with these arguments. TOKEN is sent if it is set.
test_daemon() {
  local name=$1 headers=()
  shift
  [[ -z ${TOKEN:-} ]] || headers=(--header "Authorization: Bearer $TOKEN")
  "$bin" serve --api-port 0 --port-file "$work/$name.port" --data-dir "$work/$name" --log-level warn "$@" 2>"$work/$name.log" &
  daemon=$!
  for _ in {1..100}; do [[ -s $work/$name.port ]] && break || sleep 0.1; done
  "$tool" --config-file "$here/schemathesis.toml" run "http://127.0.0.1:$(<"$work/$name.port")/openapi.json" --checks all \
    --max-examples "$examples" --workers 2 --no-color --request-timeout 60 --suppress-health-check all "${headers[@]}" \
    --exclude-path /ws --exclude-path /api/shutdown --exclude-path-regex '/events$'
  if grep -E 'panic|ERR' "$work/$name.log"; then
    echo "the daemon logged errors"
    exit 1
  fi
  kill "$daemon"
  wait "$daemon"
  daemon=
}

test_daemon open
TOKEN=$("$bin" token new --name test --scope admin --file "$work/tokens" 2>/dev/null)
test_daemon guarded --token-file "$work/tokens"
