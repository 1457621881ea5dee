#!/bin/bash
# Checks a release for this machine: scripts/dist_check.sh VERSION REVISION DATE
#
# Two builds, the second one in another folder and with an empty build cache, give the
# same files; the deb can be installed into an empty root, runs there, and leaves the
# results behind when it is removed; systemd, mandoc and the shells accept its files.
# Needs root or sudo, dpkg, systemd, mandoc and unshare; zsh and fish are optional.
# dist/ has the files afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
as=()
((EUID == 0)) || as=(sudo -n)
trap '"${as[@]}" rm -rf "$work"' EXIT

die() {
  echo "dist-check: $*" >&2
  exit 1
}
say() { echo "--- $*"; }
for tool in dpkg systemd-analyze mandoc unshare; do
  command -v $tool >/dev/null || die "$tool is missing"
done

say "two builds"
export TARGETS=linux/$(go env GOARCH)
OUT=dist scripts/dist.sh "$@" >"$work/first.log"
mkdir "$work/source"
git ls-files -z --cached --others --exclude-standard | # what a clone would have, with changes
  tar --create --null --files-from=- | tar --extract --directory "$work/source"
GOCACHE=$work/cache OUT=$work/again "$work/source/scripts/dist.sh" "$@" >"$work/second.log"
cmp dist/SHA256SUMS "$work/again/SHA256SUMS" || die "two builds differ: $(diff dist/SHA256SUMS "$work/again/SHA256SUMS")"
(cd dist && sha256sum --quiet --check SHA256SUMS)
cat dist/SHA256SUMS

say "install the deb into an empty root"
root=$work/root
mkdir -p "$root"/{proc,usr/bin,var/lib/dpkg/{info,updates}}
touch "$root/var/lib/dpkg/status"
deb=(dist/*.deb)
# The scripts of the package run with commands of this machine, without systemd (the folder
# /run/systemd/system is hidden from them) and with a systemd-sysusers that only says so.
mkdir "$work/bin"
printf '#!/bin/sh\necho "systemd-sysusers $*"\n' >"$work/bin/systemd-sysusers"
chmod +x "$work/bin/systemd-sysusers"
settings=()
package() {
  "${as[@]}" env PATH="$work/bin:$PATH" ROOT="$root" "${settings[@]}" unshare --mount bash -c '
    mkdir -p "$ROOT/run" && mount --bind "$ROOT/run" /run
    dpkg --root="$ROOT" --force-script-chrootless --no-debsig --log="$ROOT/dpkg.log" "$@"' dpkg "$@"
}
systemd-sysusers --dry-run "$PWD/scripts/package/sysusers.conf"
package --install "${deb[@]}" | tee "$work/install.log"
grep -q '^systemd-sysusers aiperfd.conf$' "$work/install.log" || die "the package does not create its user"
inside() { "${as[@]}" env -i HOME=/tmp unshare --root="$root" --setuid 65534 --setgid 65534 "$@"; }
inside /usr/bin/aiperfd version -o json
[[ $(inside /usr/bin/aiperfd version -o json | sed -n 's/.*"version": "\(.*\)".*/\1/p') == "$1" ]] || die "the binary has another version"

say "systemd"
"${as[@]}" cp --recursive --no-clobber /usr/lib/systemd/system "$root/usr/lib/systemd/" # the targets that the unit names
systemd-analyze verify --man=no --root="$root" aiperfd.service
systemd-analyze security --offline=true --threshold=20 --root="$root" aiperfd.service | tail -n 1

say "manual and completions"
gunzip --keep "$root"/usr/share/man/man1/*.gz
mandoc -T lint -W warning "$root"/usr/share/man/man1/*.1
bash -c "$(printf '%s\n' '_get_comp_words_by_ref() { cur=ser prev=aiperfd words=(aiperfd ser) cword=1; }' \
  'compopt() { :; }' '__ltrim_colon_completions() { :; }' 'PATH=$1/usr/bin:$PATH; source "$1/usr/share/bash-completion/completions/aiperfd"' \
  'COMP_TYPE=9 COMP_KEY=9 COMP_LINE="aiperfd ser" COMP_POINT=11; __start_aiperfd' '[[ ${COMPREPLY[*]} == serve* ]] || { echo "bash completes ser to: ${COMPREPLY[*]}"; exit 1; }')" bash "$root"
if command -v zsh >/dev/null; then zsh -n "$root/usr/share/zsh/vendor-completions/_aiperfd"; fi
if command -v fish >/dev/null; then fish --no-execute "$root/usr/share/fish/vendor_completions.d/aiperfd.fish"; fi

say "remove the package"
"${as[@]}" install -d "$root/var/lib/aiperfd/runs"
package --remove aiperfd
[[ ! -e $root/usr/bin/aiperfd && -e $root/etc/default/aiperfd ]] || die "remove leaves the binary, or deletes the settings"
package --purge aiperfd
[[ ! -e $root/etc/default/aiperfd && -d $root/var/lib/aiperfd/runs ]] || die "purge leaves the settings, or deletes the results"
package --install "${deb[@]}" >/dev/null
settings=(AIPERFD_PURGE_DATA=yes)
package --purge aiperfd
[[ ! -e $root/var/lib/aiperfd ]] || die "purge with AIPERFD_PURGE_DATA=yes leaves the results"
say "all passed"
