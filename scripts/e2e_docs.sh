#!/usr/bin/env bash
# Runs the sh blocks of documentation pages as a reader would: e2e_docs.sh PAGE…
# The blocks of a page run in order in one shell that starts in an empty folder; a
# block that calls make runs in the source folder. Every command must succeed.
# Blocks with another language (bash, yaml, text …) need something that only the
# reader has, or are not commands; they are not run.
# bin/aiperfd must exist. The ports of the pages are replaced by free ones, so that several lists
# of pages can be run at a time: a simulator whose port another one takes ends, and the page would
# go on with the other one, and fail where it ends its own.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
readonly root work
trap 'rm -rf "$work"' EXIT

busy() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# port prints a free port.
port() {
  local p
  for p in $(shuf -i 20000-30000 -n 50); do
    busy "$p" || { echo "$p"; return; }
  done
  echo "no free port" >&2
  return 1
}

# script prints the blocks of a page as one script.
script() {
  awk -v page="$1" '
    /^```sh$/ { inside = 1; block = ""; line = NR; next }
    inside && /^```$/ {
      inside = 0
      printf "echo \"--- %s, line %d\"\n", page, line
      if (("\n" block) ~ /\nmake /) print "cd \"$root\""
      printf "%scd \"$empty\"\n", block
      next
    }
    inside { block = block $0 "\n" }
  ' "$1" | sed -E "s/\b8000\b/$2/g; s/\b9097\b/$3/g"
}

# run PAGE: in an empty folder; whatever the page leaves running is stopped.
run() {
  local target api empty=$work/empty
  target=$(port) api=$(port)
  rm -rf "$empty" && mkdir "$empty"
  {
    echo 'set -euo pipefail'
    echo "trap 'kill \$(jobs -p) 2>/dev/null || true; wait' EXIT"
    echo 'cd "$empty"'
    script "$1" "$target" "$api"
  } >"$work/page.sh"
  grep -q '^echo "--- ' "$work/page.sh" || { echo "$1 has no sh block" >&2; return 1; }
  env root="$root" empty="$empty" PATH="$root/bin:$PATH" AIPERFD_API_PORT="$api" AIPERFD_SERVER="http://127.0.0.1:$api" \
    timeout -k 10 300 bash "$work/page.sh" </dev/null
  # What the page has downloaded belongs to a run that completed.
  if [[ -e $empty/results.json ]]; then
    [[ $(jq -r .status "$empty/results.json") == complete ]] || { echo "$1: no complete results" >&2; return 1; }
  fi
}

(($#)) || { echo "usage: $0 PAGE…" >&2; exit 2; }
for page; do run "$page"; done
