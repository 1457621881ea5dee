#!/usr/bin/env bash
# Runs tests under the race detector: race.sh [PACKAGE…, default ./...]
#
# Of the packages, those are run in which goroutines can meet: the package or its tests
# import context, net, net/http, sync, sync/atomic or testing/synctest, or have a go
# statement. What the others compute for several goroutines, the tests of their users
# compute under the detector, too.
#
# Packages whose tests use testing/synctest run on one processor. The timers of a
# bubble share one context of the detector, and two threads that run timers of the same
# bubble at a time corrupt it (github.com/golang/go/issues/78156): the process dies of a
# signal in ThreadSanitizer. On one processor no two threads run at a time. The detector
# compares the order of accesses, so it finds races there, too; the scripts of
# cmd/aiperfd start processes that have all processors.
# make lint has vet. Beside other work, a package may take longer than the usual ten minutes.
#
# What cannot show a race that another test does not show is left out by the tests
# themselves: rounds that differ in their data alone, searches of finished output, scripts
# of commands that run alone from their start to their end.
set -euo pipefail
cd "$(dirname "$0")/.."
(($#)) || set -- ./...
virtual=() others=()
while read -r path dir imports; do
  case " $imports " in
    *" testing/synctest "*) virtual+=("$path") ;;
    *" context "* | *" net "* | *" net/http "* | *" sync "* | *" sync/atomic "*) others+=("$path") ;;
    *) ! grep -qsE '^\s*go (func\b|[[:alnum:]_.]+\()' "$dir"/*.go || others+=("$path") ;;
  esac
done < <(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}{{end}}' "$@" | sed '/^$/d')
echo "race: $((${#virtual[@]} + ${#others[@]})) packages, ${#virtual[@]} of them on one processor"

status=0
((${#virtual[@]} == 0)) || go test -vet=off -race -timeout 45m -cpu 1 "${virtual[@]}" || status=$?
((${#others[@]} == 0)) || go test -vet=off -race -timeout 45m "${others[@]}" || status=$?
exit "$status"
