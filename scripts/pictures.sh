#!/usr/bin/env bash
# Makes the pictures in docs/images from real runs against the simulated server:
#   scripts/pictures.sh [NAME…]     all, or some of: run runs compare sweep terminal dashboard
# Runs whose verdict is invalid, because the machine was busy, are repeated. It needs bin/aiperfd (make build), Node.js with npm, Chromium, tmux, jq and pngquant; what is
# missing of these is installed by apt-get. It takes about two minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly bin=$PWD/bin/aiperfd here=$PWD/scripts out=$PWD/docs/images limit=153600
work=$(mktemp -d)
readonly work
pids=()

cleanup() {
  local code=$? pid
  tmux -L pictures kill-server 2>/dev/null || true
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  ((code == 0)) || tail -n 5 "$work"/*.log >&2 2>/dev/null || true
  rm -rf "$work"
  exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

die() {
  echo "pictures: $*" >&2
  exit 1
}

# need COMMAND PACKAGE: the command exists, or can be installed.
need() {
  local as=()
  command -v "$1" >/dev/null && return
  ((EUID == 0)) || as=(sudo -n)
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "$2" >"$work/apt.log" 2>&1 || die "$1 is missing"
}

# await SECONDS COMMAND…: the command succeeds within that time.
await() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || die "not in time: $*"
    sleep 0.2
  done
}

# free PORT: prints the port, or 0 if it is in use.
free() { if (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then echo 0; else echo "$1"; fi; }

ctl() { "$bin" ctl --server "$api" "$@"; }

# submit NAME LABEL LOAD [SWEEP]: submits a run and prints its id.
submit() {
  ctl submit - --name "$1" --label "server=$2" --output name <<YAML
benchmark:
  model: llama-3.1-8b
  endpoint: {url: "$target", streaming: true}
  dataset: {type: synthetic, entries: 2000, isl: {mean: 128, stddev: 32}, osl: {mean: 32, stddev: 8}}
  tokenizer: {name: builtin}
  phases:
    - {name: warmup, kind: warmup, type: concurrency, concurrency: 4, requests: 8}
    - {name: profiling, $3}
  slos: {time_to_first_token: 600, inter_token_latency: 90}
${4:-}
YAML
}

# finish ID: waits for the end of a run, and fails if its numbers are invalid.
finish() {
  ctl watch "$1" --timeout 3m >"$work/watch.log" 2>&1
  [[ $(verdict "$1") != invalid ]]
}

# verdict ID: prints the verdict on the load generator, so far.
verdict() { ctl get "$1" --output json 2>/dev/null | jq -r '.client.verdict // ""'; }

# measure ARGS…: submits a run until its numbers are valid, and prints its id.
measure() {
  local id attempt
  for attempt in 1 2 3; do
    id=$(submit "$@")
    ! finish "$id" || break
    echo "$1: invalid, attempt $attempt" >&2
    ((attempt == 3)) || ctl delete "$id" >/dev/null
  done
  echo "$id"
}

# shot NAME THEME PATH [WAIT]: photographs a page of the dashboard.
shot() { node "$work/browser/pictures.mjs" page "$api" "$2" "$3" "${4:-}" "$work/$1.png" && publish "$1"; }

# publish NAME: reduces the colours of a picture and moves it to docs/images.
publish() {
  local colours
  for colours in 256 128 64 32; do
    pngquant --force --strip --speed 1 --output "$out/$1.png" "$colours" "$work/$1.png"
    (($(stat -c %s "$out/$1.png") > limit)) || { echo "$out/$1.png: $(stat -c %s "$out/$1.png") bytes"; return; }
  done
  die "$1.png has more than $limit bytes"
}

# record NAME WIDTH HEIGHT SECONDS COMMAND…: photographs a terminal in which the command
# runs, after it has ended or after that time.
record() {
  local name=$1 width=$2 height=$3 seconds=$4
  shift 4
  printf '%q ' "$@" >"$work/$name.sh"
  (cd "$work" && tmux -L pictures -f /dev/null new-session -d -x "$width" -y "$height" "env TERM=tmux-256color COLORTERM=truecolor bash $work/$name.sh; touch $work/$name.done; sleep 60")
  for ((i = 0; i < seconds * 5; i++)); do
    [[ ! -e $work/$name.done ]] || break
    sleep 0.2
  done
  tmux -L pictures capture-pane -p -e >"$work/$name.ansi"
  tmux -L pictures kill-server
  node "$work/browser/pictures.mjs" terminal "$work/$name.ansi" "$work/$name.png" && publish "$name"
}

start() {
  [[ -x $bin ]] || die "bin/aiperfd is missing: run make build"
  need tmux tmux
  need pngquant pngquant
  need jq jq
  need chromium chromium
  mkdir -p "$out" "$work/browser"
  (cd "$work/browser" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm install --silent --no-audit --no-fund playwright-core) >"$work/npm.log" 2>&1 || die "playwright-core cannot be installed"
  cp "$here/pictures.mjs" "$work/browser/"
  "$bin" mock --port "$(free 8000)" --port-file "$work/mock.port" --preset l4-8b >"$work/mock.log" 2>&1 &
  pids+=($!)
  "$bin" serve --api-port "$(free 9097)" --port-file "$work/api.port" --data-dir "$work/data" >"$work/serve.log" 2>&1 &
  pids+=($!)
  await 20 test -s "$work/mock.port" -a -s "$work/api.port"
  target=http://127.0.0.1:$(<"$work/mock.port")
  api=http://127.0.0.1:$(<"$work/api.port")
  await 20 curl -fsS "$api/readyz"
}

# live photographs a run while it is active, until its numbers are valid.
live() {
  local id attempt
  for attempt in 1 2 3; do
    id=$(submit "chat, 16 users" b 'type: concurrency, concurrency: 16, duration: 60s')
    sleep 35
    if wanted run; then
      shot run-light light "#/runs/$id" canvas
      shot run-dark dark "#/runs/$id" canvas
    fi
    ! wanted runs || shot runs-light light "#/" table
    [[ $(verdict "$id") == invalid ]] || return 0
    echo "live run: invalid, attempt $attempt" >&2
    ctl delete "$id" --force >/dev/null
  done
}

main() {
  local names=${*:-run runs compare sweep terminal dashboard} first second sweep
  wanted() { [[ " $names " == *" $1 "* ]]; }
  start
  if wanted terminal; then
    record terminal 100 40 60 "$bin" profile --model my-model --url "${target/127.0.0.1/localhost}" --streaming --tokenizer builtin \
      --synthetic-input-tokens-mean 128 --output-tokens-mean 32 --concurrency 16 --request-count 100 --log-level ERROR
  fi
  if wanted dashboard; then
    record dashboard 110 32 35 "$bin" profile --ui dashboard --model my-model --url "${target/127.0.0.1/localhost}" --streaming --tokenizer builtin \
      --synthetic-input-tokens-mean 128 --output-tokens-mean 64 --request-rate 12 --benchmark-duration 60 --slo 'p99(time_to_first_token) < 500ms' --log-level ERROR
  fi
  if wanted compare || wanted runs; then
    first=$(measure "chat, 8 users" a 'type: concurrency, concurrency: 8, duration: 20s')
    second=$(measure "chat, 24 users" b 'type: concurrency, concurrency: 24, duration: 20s')
  fi
  if wanted sweep || wanted runs; then
    sweep=$(measure "how many users?" a 'type: concurrency, concurrency: 1, duration: 15s' \
      'sweep: {type: grid, parameters: {concurrency: [4, 8, 16, 32, 64]}}')
  fi
  ! wanted compare || shot compare-light light "#/compare?ids=$first,$second" table
  ! wanted sweep || shot sweep-light light "#/runs/$sweep" canvas
  if wanted run || wanted runs; then live; fi
}
main "$@"
