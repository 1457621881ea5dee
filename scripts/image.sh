#!/bin/bash
# Makes the file tree of the container image: scripts/image.sh DIR
#
# DIR/system holds what belongs to root, DIR/nobody what the image's user (65534)
# owns; the image is both, laid over nothing. The Dockerfile and the end-to-end
# test use the same tree. VERSION, REVISION and COMMIT_DATE are passed on to make build;
# COMMIT_DATE is also the time of the files.
set -euo pipefail

dir=${1:?usage: scripts/image.sh DIR}
cd "$(dirname "$0")/.."

mkdir -p "$dir/system/etc/ssl/certs" "$dir/system/licenses" "$dir/system/tmp" "$dir/system/out" "$dir/nobody/data"
make --no-print-directory build BIN="$dir/system/aiperfd"
cp /etc/ssl/certs/ca-certificates.crt "$dir/system/etc/ssl/certs/"
cp LICENSE "$dir/system/licenses/"
scripts/licenses.sh "$dir/system/aiperfd" >"$dir/system/licenses/THIRD_PARTY_LICENSES.txt"
# Anybody may write to /tmp and to the working directory, also with --user.
chmod 1777 "$dir/system/tmp" "$dir/system/out"
chmod 0700 "$dir/nobody/data"
if [[ -n ${COMMIT_DATE:-} ]]; then find "$dir" -exec touch --no-dereference --date "$COMMIT_DATE" {} +; fi
