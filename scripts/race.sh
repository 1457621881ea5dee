#!/usr/bin/env bash
# Runs all tests under the race detector: race.sh [PACKAGE…, default ./...]
#
# The detector's own runtime may crash together with testing/synctest
# (github.com/golang/go/issues/78156). That is a signal in code that is not Go's,
# with the registers printed, or a failed check of its own, and no test, race or
# panic named. The packages which it took down run again, four times at most; everything
# else that fails, fails.
# make lint has vet.
set -euo pipefail
cd "$(dirname "$0")/.."
(($#)) || set -- ./...
log=$(mktemp)
trap 'rm -f "$log"' EXIT

crashed() {
  grep -q '^ThreadSanitizer: CHECK failed' "$log" ||
    { grep -q '^SIGSEGV: segmentation violation' "$log" && grep -Eq '^(rip|pc) +0x' "$log"; }
}

findings='^ *--- FAIL|^WARNING: DATA RACE|^panic:|^fatal error:|\[build failed\]|\[setup failed\]'
for attempt in 1 2 3 4 5; do
  status=0
  go test -vet=off -race "$@" 2>&1 | tee "$log" || status=$?
  ((status)) || exit 0
  if grep -Eq "$findings" "$log" || ! crashed; then
    exit "$status"
  fi
  mapfile -t packages < <(awk -F '\t' '$1 == "FAIL" && NF > 1 {print $2}' "$log")
  ((${#packages[@]})) || exit "$status"
  echo "the race detector itself crashed in ${packages[*]} (attempt $attempt of 5)"
  set -- "${packages[@]}"
done
exit "$status"
