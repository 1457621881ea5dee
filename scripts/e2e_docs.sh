#!/usr/bin/env bash
# Runs the sh blocks of documentation pages as a reader would: e2e_docs.sh PAGE…
# The blocks of a page run in order in one shell that starts in an empty folder; a
# block that calls make runs in the source folder. Every command must succeed.
# Blocks with another language (bash, yaml, text …) need something that only the
# reader has, or are not commands; they are not run.
# A verdict about this machine (exit codes 3 to 5 of profile and capacity: an objective was missed,
# the load generator was too slow, not decided) is printed and does not fail the page: beside other
# work it is right. Tests of the exit codes are in cmd/aiperfd/testdata.
# bin/aiperfd must exist. The ports of the pages are replaced by free ones, so that several lists
# of pages can be run at a time: a simulator whose port another one takes ends, and the page would
# go on with the other one, and fail where it ends its own.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
readonly root work
trap 'rm -rf "$work"' EXIT

busy() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# port prints a free port.
port() {
  local p
  for p in $(shuf -i 20000-30000 -n 50); do
    busy "$p" || { echo "$p"; return; }
  done
  echo "no free port" >&2
  return 1
}

# script prints the blocks of a page as one script.
script() {
  awk -v page="$1" '
    /^```sh$/ { inside = 1; block = ""; line = NR; next }
    inside && /^```$/ {
      inside = 0
      printf "echo \"--- %s, line %d\"\n", page, line
      if (("\n" block) ~ /\nmake /) print "cd \"$root\""
      printf "%scd \"$empty\"\n", block
      next
    }
    inside { block = block $0 "\n" }
  ' "$1" | sed -E "s/\b8000\b/$2/g; s/\b9097\b/$3/g; s#\"\\\$PWD/bin:#\"$work/bin:#"
}

# The pages call the program through this, README.md too.
mkdir "$work/bin"
cat >"$work/bin/aiperfd" <<END
#!/usr/bin/env bash
case \${1:-} in
  profile | capacity) ;;
  *) exec "$root/bin/aiperfd" "\$@" ;;
esac
code=0
"$root/bin/aiperfd" "\$@" || code=\$?
((code < 3 || code > 5)) || { echo "exit code \$code is a verdict about this machine"; exit 0; }
exit "\$code"
END
chmod +x "$work/bin/aiperfd"

# run PAGE: in an empty folder; whatever the page leaves running is stopped.
run() {
  local target api empty=$work/empty code=0
  target=$(port) api=$(port)
  rm -rf "$empty" && mkdir "$empty"
  {
    echo 'set -euo pipefail'
    echo "trap 'kill \$(jobs -p) 2>/dev/null || true; wait' EXIT"
    echo 'cd "$empty"'
    script "$1" "$target" "$api"
  } >"$work/page.sh"
  grep -q '^echo "--- ' "$work/page.sh" || { echo "$1 has no sh block" >&2; return 1; }
  env root="$root" empty="$empty" PATH="$work/bin:$PATH" AIPERFD_API_PORT="$api" AIPERFD_SERVER="http://127.0.0.1:$api" \
    timeout -k 10 300 bash "$work/page.sh" </dev/null || code=$?
  ((code == 0)) || { echo "$1: exit code $code" >&2; return 1; }
  # What the page has downloaded belongs to a run that completed.
  if [[ -e $empty/results.json ]]; then
    [[ $(jq -r .status "$empty/results.json") == complete ]] || { echo "$1: no complete results" >&2; return 1; }
  fi
}

(($#)) || { echo "usage: $0 PAGE…" >&2; exit 2; }
for page; do
  # Other work on the machine can decide a gate or use up a time limit, hardly twice.
  run "$page" || { echo "$page failed; once more" >&2 && run "$page"; }
done
