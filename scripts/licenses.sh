#!/bin/bash
# Prints the licences of what a binary contains: scripts/licenses.sh BINARY
#
# They are those of Go, of the modules that the binary is built from, and of the
# vocabularies of tokenizers. A module without a licence is an error.
set -euo pipefail
binary=$(realpath "${1:?usage: scripts/licenses.sh BINARY}")
cd "$(dirname "$0")/.."
export LC_ALL=C

# texts TITLE FOLDER: the licences and notices in the folder.
texts() {
  local file files
  files=$(find "$2" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) | sort)
  [[ $files ]] || {
    echo "licenses: $1 has no licence in $2" >&2
    return 1
  }
  while read -r file; do
    printf '==== %s: %s\n\n' "$1" "${file##*/}"
    tr -d '\r' <"$file"
    echo
  done <<<"$files"
}

texts Go "$(go env GOROOT)"
texts "tiktoken vocabularies" internal/engine/tokenizer/data
modules=$(go version -m "$binary" | awk '$1 == "dep" { print $2 }')
list=$(go list -m -f '{{.Path}} {{.Version}} {{.Dir}}' $modules)
while read -r path version dir; do texts "$path $version" "$dir"; done <<<"$list"
