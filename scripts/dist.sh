#!/bin/bash
# Makes the files of a release in dist/: scripts/dist.sh VERSION DATE
#
# Archives for Linux and macOS, deb and rpm packages, a bill of materials and
# checksums. All times in them are DATE (that of the commit), so that the same commit
# and the same Go give the same bytes.
set -euo pipefail
version=${1:?usage: scripts/dist.sh VERSION DATE} date=${2:?usage: scripts/dist.sh VERSION DATE}
cd "$(dirname "$0")/.."
umask 022
mtime=${date}T00:00:00Z
name=aiperfd_${version#v}

rm -rf dist
mkdir -p dist
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

archive() { # archive FOLDER FILE: a tar of what is in the folder, the same for the same content
  tar --create --directory "$1" --sort=name --mtime="$mtime" --owner=0 --group=0 --numeric-owner \
    --format=gnu --transform "s|^\./|${2%.tar.gz}/|" . | gzip --no-name --best > "dist/$2"
}

make --no-print-directory build BIN="$stage/host/aiperfd" VERSION="$version" COMMIT_DATE="$date"
mkdir -p "$stage/common/man" "$stage/common/completions"
# The pages show defaults of flags: none may come from this machine.
env -i HOME='~' "$stage/host/aiperfd" man "$stage/common/man"
for shell in bash zsh fish; do
  "$stage/host/aiperfd" completion $shell > "$stage/common/completions/aiperfd.$shell"
done
cp README.md LICENSE CHANGELOG.md "$stage/common/"

for target in linux/amd64 linux/arm64 darwin/amd64 darwin/arm64; do
  os=${target%/*} arch=${target#*/}
  tree=$stage/$os-$arch
  cp -r "$stage/common" "$tree"
  GOOS=$os GOARCH=$arch make --no-print-directory build BIN="$tree/aiperfd" VERSION="$version" COMMIT_DATE="$date"
  archive "$tree" "${name}_${os}_$arch.tar.gz"
  [ "$os" = linux ] || continue
  gzip --no-name --best "$tree"/man/*.1
  # Package versions begin with a digit, and ~ sorts before a release.
  package=$(sed 's/^v//; s/-/~/g' <<< "$version")
  [[ $package =~ ^[0-9] ]] || package=0~$package
  sed "s|@GOARCH@|$arch|; s|@STAGE@|$tree|g; s|@PACKAGE_VERSION@|$package|; s|@MTIME@|$mtime|g" \
    scripts/package/nfpm.yaml > "$stage/nfpm.yaml"
  for format in deb rpm; do
    SOURCE_DATE_EPOCH=$(date -d "$mtime" +%s) go tool -modfile=tools/go.mod nfpm package \
      --config "$stage/nfpm.yaml" --packager $format --target dist/
  done
done
GOOS='' GOARCH='' go run ./scripts/sbom "$stage/linux-amd64/aiperfd" "$version" > "dist/$name.cdx.json"
(cd dist && sha256sum -- * > SHA256SUMS)
ls -l dist
