#!/bin/bash
# Makes the files of a release in dist/: scripts/dist.sh VERSION REVISION DATE
#
# Archives for Linux and macOS, deb and rpm packages, a bill of materials of each
# binary, and checksums. All times in them are DATE (that of the commit, as
# 2026-05-04T10:00:00Z), so that the same commit and the same Go give the same bytes.
# TARGETS names other systems: TARGETS=linux/amd64. OUT is another folder.
set -euo pipefail
usage='usage: scripts/dist.sh VERSION REVISION DATE'
version=${1:?$usage} revision=${2:?$usage} date=${3:?$usage}
out=$(realpath -m "${OUT:-$(dirname "$0")/../dist}")
cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(date -d "$date" +%s)
name=aiperfd_${version#v}
if [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]] && ! grep -qF "## [${version#v}] - " CHANGELOG.md; then
  echo "dist: CHANGELOG.md has no section [${version#v}] with a date" >&2
  exit 1
fi

rm -rf "$out"
mkdir -p "$out"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# build FILE: aiperfd for GOOS and GOARCH.
build() {
  make --no-print-directory build BIN="$1" VERSION="$version" REVISION="$revision" COMMIT_DATE="$date"
}

# archive FOLDER NAME: a tar of what is in the folder, the same for the same content.
archive() {
  tar --create --directory "$1" --sort=name --mtime="$date" --owner=0 --group=0 --numeric-owner \
    --format=gnu --transform "s|^\.|$2|" . | gzip --no-name --best >"$out/$2.tar.gz"
}

# packageversion prints the version in the order of dpkg and rpm, in which ~ sorts before
# a release: v1.2.0-rc.1 is 1.2.0~rc.1, the third commit after v1.2.0 is 1.2.0+3.g1234567,
# and commits before the first release are 0~ with the time of the commit.
packageversion() {
  local v=${version#v}
  v=${v%-dirty}
  if [[ ! $v =~ ^[0-9]+\.[0-9]+\.[0-9]+(-|$) ]]; then
    v=0~$(date -u -d "$date" +%Y%m%d%H%M%S).$v
  elif [[ $v =~ ^(.*)-([0-9]+)-(g[0-9a-f]+)$ ]]; then
    v=${BASH_REMATCH[1]}+${BASH_REMATCH[2]}.${BASH_REMATCH[3]}
  fi
  echo "${v//-/\~}"
}

# packages FOLDER ARCH: deb and rpm of what is in the folder.
packages() {
  local format
  gzip --no-name --best "$1"/man/*.1
  sed "s|@GOARCH@|$2|; s|@STAGE@|$1|g; s|@VERSION@|$(packageversion)|; s|@DATE@|$date|g" \
    scripts/package/nfpm.yaml >"$stage/nfpm.yaml"
  for format in deb rpm; do
    go tool -modfile=tools/nfpm.mod nfpm package --config "$stage/nfpm.yaml" --packager $format --target "$out/"
  done
}

build "$stage/host/aiperfd"
mkdir -p "$stage/common/completions"
# The pages show defaults of flags: none may come from this machine.
env -i HOME='~' "$stage/host/aiperfd" man "$stage/common/man"
for shell in bash zsh fish; do
  "$stage/host/aiperfd" completion $shell >"$stage/common/completions/aiperfd.$shell"
done
cp README.md LICENSE CHANGELOG.md SECURITY.md "$stage/common/"

for target in ${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}; do
  os=${target%/*} arch=${target#*/}
  tree=$stage/$os-$arch
  cp -r "$stage/common" "$tree"
  GOOS=$os GOARCH=$arch build "$tree/aiperfd"
  scripts/licenses.sh "$tree/aiperfd" >"$tree/THIRD_PARTY_LICENSES.txt"
  archive "$tree" "${name}_${os}_$arch"
  go run ./scripts/sbom "$tree/aiperfd" "$version" >"$out/${name}_${os}_$arch.cdx.json"
  if [[ $os == linux ]]; then packages "$tree" "$arch"; fi
done
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
