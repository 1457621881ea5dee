#!/usr/bin/env bash
# Runs all tests under the race detector: race.sh [PACKAGE…, default ./...]
#
# Packages whose tests use testing/synctest run on one processor. The timers of a
# bubble share one context of the detector, and two threads that run timers of the same
# bubble at a time corrupt it (github.com/golang/go/issues/78156): the process dies of a
# signal in ThreadSanitizer. On one processor no two threads run at a time. The detector
# compares the order of accesses, so it finds races there, too; the scripts of
# cmd/aiperfd start processes that have all processors.
# make lint has vet.
set -euo pipefail
cd "$(dirname "$0")/.."
(($#)) || set -- ./...
mapfile -t virtual < <(go list -f '{{range .TestImports}}{{if eq . "testing/synctest"}}{{$.ImportPath}}{{end}}{{end}}
{{range .XTestImports}}{{if eq . "testing/synctest"}}{{$.ImportPath}}{{end}}{{end}}' "$@" | sort -u | sed '/^$/d')
mapfile -t others < <(comm -13 <(printf '%s\n' "${virtual[@]}" | sort) <(go list "$@" | sort))

status=0
((${#virtual[@]} == 0)) || go test -vet=off -race -cpu 1 "${virtual[@]}" || status=$?
((${#others[@]} == 0)) || go test -vet=off -race "${others[@]}" || status=$?
exit "$status"
