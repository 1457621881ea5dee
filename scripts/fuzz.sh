#!/usr/bin/env bash
# Runs every fuzz target of the module, one after the other.
# Usage: scripts/fuzz.sh [duration of each target, default 20s] [packages, default ./...]
set -euo pipefail
cd "$(dirname "$0")/.."
duration=${1:-20s}
shift || true
(($#)) || set -- ./...

# "go test -list" prints the targets of a package and then "ok <package>".
list=$(go test -list '^Fuzz' "$@")
targets=()
found=()
while read -r first second _; do
  case $first in
    Fuzz*) targets+=("$first") ;;
    ok)
      for target in "${targets[@]}"; do found+=("$second $target"); done
      targets=()
      ;;
  esac
done <<<"$list"
if ((${#found[@]} == 0)); then
  echo "no fuzz target found in $*" >&2
  exit 1
fi

failed=()
for entry in "${found[@]}"; do
  read -r package target <<<"$entry"
  echo "=== $package $target"
  go test -run '^$' -fuzz "^$target\$" -fuzztime "$duration" -fuzzminimizetime 100x "$package" || failed+=("$entry")
done
echo "${#found[@]} targets, ${#failed[@]} failed"
if ((${#failed[@]})); then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
