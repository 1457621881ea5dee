#!/usr/bin/env bash
# Compares pictures of the pages with their references, or makes them anew:
#   scripts/looks/run.sh [check [STATE…]]     compares; what differs is in FAILED (default /tmp/looks)
#   scripts/looks/run.sh update [STATE…]      writes the references anew; look at them before you commit them
#   scripts/looks/run.sh full [STATE…]        writes pictures in full size to FAILED
#   scripts/looks/run.sh prove                shows which faults of a page are found
#   scripts/looks/run.sh speed                measures how fast pages are with 10,000 runs (make build; an idle machine)
# It needs Chromium, and Node.js with npm. For the pictures there is no daemon: the pages are
# those of web/dist, and what a daemon answers to them is in recorded/.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
chromium=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mode=${1:-check}
shift || true
"$here/install.sh" "$work"
cp "$here"/*.mjs "$work/"
if [[ $mode == speed ]]; then
  node "$work/speed.mjs" "$chromium" "$here/../../bin/aiperfd"
  exit
fi
LOOKS=$here node "$work/looks.mjs" "$mode" "$chromium" "${FAILED:-/tmp/looks}" "$@"
