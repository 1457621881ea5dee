#!/usr/bin/env bash
# Drives the built binary with tools that are none of ours: curl, a real
# Prometheus, the official SDKs of OpenAI, Anthropic and Cohere, and a real browser;
# and runs the commands of README.md and of the guides.
# Run it by `make e2e`.
# Whatever is missing is fetched into a temporary folder, or by apt-get where it
# has to be installed. A stage whose tool cannot be had is skipped on a desk, and
# fails where CI=true.
# Stages may be named: scripts/e2e.sh docs curl crash prometheus sdk vllm workloads browser image
set -euo pipefail
cd "$(dirname "$0")/.."
readonly bin=$PWD/bin/aiperfd here=$PWD/scripts
work=$(mktemp -d)
readonly work
pids=()

cleanup() {
  local code=$? pid
  [[ ! -s $work/page.pid ]] || pids+=("$(<"$work/page.pid")")
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do
    for _ in {1..50}; do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
    kill -9 "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  if ((code)); then
    echo "--- logs" >&2
    tail -n 20 "$work"/*.log >&2 2>/dev/null || true
    # Last, because the end of a long output is what is read.
    cat "$work"/failure-* >&2 2>/dev/null || true
  fi
  rm -rf "$work"
  exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# die keeps its message for the clean-up, which prints it again behind the logs.
die() {
  echo "e2e: $*" | tee "$work/failure-$BASHPID" >&2
  exit 1
}

# lacking ends a stage whose tool cannot be had.
lacking() {
  [[ ${CI:-} != true ]] || die "$1 cannot be installed, and this is CI"
  echo "skipped: $1 cannot be installed"
}

# eventually SECONDS COMMAND…: the command succeeds within that time.
eventually() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || die "not in time: $*"
    sleep 0.2
  done
}

# background NAME COMMAND…: start, remember for the clean-up, log to NAME.log.
background() {
  local log=$work/$1.log
  shift
  "$@" >"$log" 2>&1 &
  pids+=($!)
}

# fetch installs Debian packages, if that is possible here.
fetch() {
  local as=()
  command -v apt-get >/dev/null || return 1
  ((EUID == 0)) || as=(sudo -n)
  # RUNLEVEL=1 keeps packages from starting their services.
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -qy --no-install-recommends "$@" >"$work/apt.log" 2>&1 && return
  "${as[@]}" apt-get update -q >>"$work/apt.log" 2>&1 || return 1
  "${as[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -qy --no-install-recommends "$@" >>"$work/apt.log" 2>&1
}

get() { curl -fsS --max-time 10 "$api$1"; }
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" | sed -n 1p; }

# contains answers whether its input, which it reads to the end, holds the text.
# (grep -q stops at the first match, and its writer dies of the closed pipe.)
contains() { [[ $(cat) == *"$1"* ]]; }

# submit SECONDS [RATE]: posts a benchmark of that length and prints its id.
submit() {
  curl -fsS --max-time 10 -X POST "$api/api/runs" -H 'Content-Type: application/yaml' --data-binary @- <<YAML | field id
metadata: {name: e2e}
benchmark:
  model: my-model
  endpoint: {url: "$target", type: chat, streaming: true}
  dataset: {type: synthetic, isl: 200, osl: 20}
  tokenizer: {name: builtin}
  gpuTelemetry: "$target/dcgm/metrics"
  phases:
    - {name: warmup, kind: warmup, type: concurrency, concurrency: 4, requests: 8}
    - {name: profiling, type: poisson, rate: ${2:-20}, duration: ${1}s}
  slos: {time_to_first_token: 200}
YAML
}
state() { get "/api/runs/$1" | field state; }
is() { [[ $(state "$1") == "$2" ]]; }
# sent is the number of requests of all phases.
sent() { get /api/progress | grep -o '"requests_sent":[0-9]*' | awk -F: '{n += $2} END {print n + 0}'; }
counted() { get '/metrics?names=native' | awk '/^aiperf_requests_total.*success.*profiling/ {print $NF; found = 1} END {exit !found}'; }
more_than() { (($($1) > $2)); } 2>/dev/null
# live: the API has statistics of the run; they follow the counters within a second.
live() { get /api/metrics | contains '"time_to_first_token":{'; }

# start gives every stage its daemon and its simulated server.
start() {
  background mock "$bin" mock --port 0 --port-file "$work/mock.port" --ttft lognormal:50ms:0.3 --itl 5ms
  background daemon "$bin" serve --api-port 0 --port-file "$work/api.port" --data-dir "$work/data"
  daemon=${pids[-1]}
  eventually 20 test -s "$work/mock.port" -a -s "$work/api.port"
  target=http://127.0.0.1:$(<"$work/mock.port")
  api=http://127.0.0.1:$(<"$work/api.port")
  eventually 20 get /readyz
}

# The curl tour of docs/daemon.md.
stage_curl() {
  local id other before metrics
  id=$(submit 10)
  [[ $id =~ ^[0-9a-f]{32}$ ]] || die "POST /api/runs gave no id: $id"
  other=$(submit 600)
  is "$other" queued || die "the second run does not wait: $(state "$other")"
  eventually 20 more_than sent 8
  before=$(sent) && eventually 5 more_than sent "$before"
  eventually 20 counted
  metrics=$(counted) && eventually 5 more_than counted "${metrics%.*}"
  eventually 5 live
  eventually 60 is "$id" completed
  get "/api/runs/$id/results" | contains '"status":"complete"' || die "no results"
  for file in profile_export_aiperf.json profile_export_aiperf.csv profile_export.jsonl profile_export_console.txt; do
    get "/api/runs/$id/results/list" | contains "\"name\":\"$file\"" || die "$file is not listed"
    get "/api/runs/$id/results/files/$file" >"$work/$file" && [[ -s $work/$file ]] || die "$file cannot be downloaded"
  done
  grep -q 'Time to First Token' "$work/profile_export_console.txt"

  # The second run started by itself; cancelled, it leaves what it measured.
  eventually 30 is "$other" running
  eventually 30 more_than sent 5
  curl -fsS --max-time 10 -X POST "$api/api/runs/current/cancel" >"$work/cancelled.json"
  eventually 60 is "$other" cancelled
  get "/api/runs/$other/results/files/profile_export_aiperf.json" | tr -d ' ' | contains '"was_cancelled":true' || die "no partial results"
  get /api/runs | contains '"total":2' || die "the daemon has forgotten a run"
  [[ $(curl -sS -o "$work/problem.json" -w '%{http_code} %{content_type}' --max-time 10 -X POST "$api/api/runs" \
    -H 'Content-Type: application/yaml' --data-binary 'benchmark: {model: m, endpoint: {timout: 3}}') == "422 application/problem+json" ]] || die "a bad document is not refused"
  grep -q 'did you mean' "$work/problem.json"
  "$bin" healthcheck --url "$api/healthz" | contains ok
}

# The daemon is killed a few times; CRASH_KILLS=100 is the long form.
stage_crash() {
  go run ./scripts/crash -bin "$bin" -kills "${CRASH_KILLS:-10}" -seed "${CRASH_SEED:-1}" || die "the daemon does not survive kill -9"
}

# A real Prometheus scrapes the daemon, and a second one with native histograms, which
# also gets the run after a restart of the daemon.
stage_prometheus() {
  local id ttft tools=$PATH classic native own before
  if ! command -v promtool >/dev/null || ! command -v prometheus >/dev/null; then
    # The package alone, unpacked here: no service and no user is made.
    mkdir "$work/prometheus"
    (cd "$work/prometheus" && { apt-get download prometheus || { apt-get update -q && apt-get download prometheus; }; } >apt.log 2>&1 &&
      dpkg-deb -x prometheus_*.deb .) || { lacking prometheus; return; }
    tools=$work/prometheus/usr/bin:$PATH
  fi
  id=$(submit 12 100)
  eventually 30 counted
  get '/metrics?names=native' >"$work/native.txt"
  env PATH="$tools" promtool check metrics <"$work/native.txt" >"$work/promtool.txt" 2>&1 || die "promtool: $(<"$work/promtool.txt")"
  [[ ! -s $work/promtool.txt ]] || die "promtool: $(<"$work/promtool.txt")"
  classic=$(free_port)
  prometheus classic "$classic"
  native=$(free_port)
  prometheus native "$native" --enable-feature=native-histograms

  ttft='histogram_quantile(0.99, sum by (le) (rate(aiperf_time_to_first_token_seconds_bucket[30s])))'
  eventually 45 answers "$classic" "$ttft"
  # The simulated server draws around 50 ms, and hardly ever above 150 ms.
  between 0.03 0.5 "$(answer "$classic" "$ttft")" || die "p99 of TTFT is $(answer "$classic" "$ttft") s"
  ttft='histogram_quantile(0.99, sum(rate(aiperf_time_to_first_token_seconds[30s])))'
  eventually 45 answers "$native" "$ttft"
  between 0.03 0.5 "$(answer "$native" "$ttft")" || die "p99 of TTFT from native buckets is $(answer "$native" "$ttft") s"
  ! answers "$native" aiperf_time_to_first_token_seconds_bucket || die "Prometheus has not preferred the native buckets"

  # Of the whole run: the p99 of the results, to the width of a bucket, 9 %. The last
  # values of the daemon that has stopped are gone when those of the next one are asked for.
  eventually 60 is "$id" completed
  ttft="histogram_quantile(0.99, aiperf_time_to_first_token_seconds{run_id=\"$id\", phase=\"profiling\"})"
  own=$(get "/api/runs/$id/metrics" | sed -n 's/.*"time_to_first_token":{[^{}]*"p99":\([0-9.]*\).*/\1/p')
  eventually 20 answers "$native" "aiperf_run_end_timestamp_seconds{run_id=\"$id\"}"
  before=$(answer "$native" "$ttft")
  echo "p99 of TTFT: $own ms in the results, $before s by Prometheus"
  awk -v a="$before" -v b="$own" 'BEGIN {exit !(a > b / 1000 / 1.1 && a < b / 1000 * 1.1)}' || die "they do not agree"
  kill "$daemon" && wait "$daemon"
  eventually 20 down "$native" "$ttft"
  background daemon2 "$bin" serve --api-port "${api##*:}" --data-dir "$work/data"
  daemon=${pids[-1]}
  eventually 30 answers "$native" "$ttft"
  [[ $(answer "$native" "$ttft") == "$before" ]] || die "after a restart, p99 of TTFT is $(answer "$native" "$ttft") s"
  dashboards "$classic" "$native"
}

# dashboards PORT…: promtool tests the rules, and each Prometheus answers every expression
# of them and of the Grafana dashboards, during a run with errors or after it.
dashboards() {
  local port checks=()
  env PATH="$tools" promtool check config examples/prometheus/prometheus.yml >"$work/promtool.txt" 2>&1 || die "promtool: $(<"$work/promtool.txt")"
  env PATH="$tools" promtool test rules examples/prometheus/tests.yml >"$work/promtool.txt" 2>&1 || die "promtool: $(<"$work/promtool.txt")"
  background faulty "$bin" mock --port 0 --port-file "$work/faulty.port" --preset tiny \
    --fault status:500,rate=0.05 --fault status:429,rate=0.05
  eventually 20 test -s "$work/faulty.port"
  go build -o "$work/promcheck" ./scripts/promcheck
  target=http://127.0.0.1:$(<"$work/faulty.port") submit 30 50 >/dev/null
  for port in "$@"; do
    "$work/promcheck" -url "http://127.0.0.1:$port" -wait 90s examples/grafana/dashboards/*.json examples/prometheus/{recording,alerts}.yml &
    checks+=($!)
  done
  for port in "${checks[@]}"; do wait "$port" || die "Prometheus does not answer all expressions"; done
}

# prometheus NAME PORT FLAG…: starts a Prometheus that scrapes the daemon.
prometheus() {
  local name=$1 port=$2
  cat >"$work/prometheus.yml" <<YAML
global: {scrape_interval: 1s, evaluation_interval: 2s}
rule_files: [$PWD/examples/prometheus/recording.yml, $PWD/examples/prometheus/alerts.yml]
scrape_configs:
  - job_name: aiperfd
    params: {names: [native]}
    static_configs: [{targets: ["${api#http://}"]}]
YAML
  shift 2
  background "prometheus-$name" env PATH="$tools" prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb-$name" \
    --web.listen-address="127.0.0.1:$port" "$@"
}

# answer PORT QUERY: prints the value that a Prometheus answers, NaN included.
answer() { curl -fsS --max-time 5 "http://127.0.0.1:$1/api/v1/query" --data-urlencode "query=$2" | sed -n 's/.*"value":\[[^,]*,"\([^"]*\)"\].*/\1/p'; }
answers() { answer "$@" | grep -Eq '^[0-9.e-]+$'; }
down() { [[ $(answer "$1" up) == 0 && -z $(answer "$@") ]]; }
between() { awk -v low="$1" -v high="$2" -v v="$3" 'BEGIN {exit !(v >= low && v <= high)}'; }

# free_port prints a port that nobody listens on.
free_port() {
  local p
  for p in $(shuf -i 20000-30000 -n 50); do
    (: <"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo "$p"; return; }
  done
  die "no free port"
}

# The official SDKs of OpenAI (Python and JavaScript), Anthropic and Cohere talk to
# the simulated server.
stage_sdk() {
  local python=python3 strict
  if ! python3 -c 'import openai, anthropic, cohere' 2>/dev/null; then
    { python3 -m venv "$work/venv" &&
      "$work/venv/bin/pip" install -q --disable-pip-version-check openai==3.54.0 anthropic==2.12.0 cohere==7.3.1; } >"$work/pip.log" 2>&1 ||
      { lacking "one of the SDKs for Python"; return; }
    python=$work/venv/bin/python
  fi
  background strict "$bin" mock --port 0 --port-file "$work/strict.port" --fast --api-key token-abc123 \
    --enable-request-id-headers --served-model-name NousResearch/Meta-Llama-3-8B-Instruct
  eventually 20 test -s "$work/strict.port"
  strict=http://127.0.0.1:$(<"$work/strict.port")
  observed sdk timeout 90 "$python" "$here/e2e_sdk.py" "$target" "$strict"
  observed sdk-more timeout 60 "$python" "$here/e2e_sdk_more.py" "$target"

  command -v npm >/dev/null || fetch nodejs npm || { lacking npm; return; }
  mkdir "$work/node"
  # The newest that runs on Node 20.
  (cd "$work/node" && npm install --silent --no-audit --no-fund openai@6.49.0) >"$work/npm.log" 2>&1 ||
    { lacking "the SDK for JavaScript"; return; }
  cp "$here/e2e_sdk.mjs" "$work/node/"
  observed sdk-node timeout 90 node "$work/node/e2e_sdk.mjs" "$target"
}

# The commands of the documentation, as a reader would paste them: they mostly wait, so two
# lists of pages are read at a time.
stage_docs() {
  command -v jq >/dev/null || fetch jq || { lacking jq; return; }
  local pages=(README.md docs/{first-benchmark,tls-and-keys,pick-a-concurrency,how-much-load,why-is-it-slow,replay,ci,daemon,coming-from}.md) other status=0
  "$here/e2e_docs.sh" "${pages[@]::4}" >"$work/pages-first.log" 2>&1 &
  other=$!
  "$here/e2e_docs.sh" "${pages[@]:4}" >"$work/pages.log" 2>&1 || status=$?
  wait "$other" || status=$?
  ((status == 0)) || die "a command of a page failed: $(tail -n 15 "$work"/pages*.log)"
  grep -h -- '^---' "$work"/pages*.log
}

# The workloads in examples/, in their short form.
stage_workloads() {
  "$here/e2e_workloads.sh" "$bin" >"$work/workloads.log" 2>&1 || die "a workload failed: $(tail -n 15 "$work/workloads.log")"
}

# vLLM's own routes, by curl.
stage_vllm() {
  command -v jq >/dev/null || fetch jq || { lacking jq; return; }
  observed vllm timeout 300 "$here/e2e_vllm.sh" "$target"
}

# The dashboard in a real browser.
stage_browser() {
  local chromium
  chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || {
    fetch chromium || { lacking chromium; return; }
    chromium=$(command -v chromium)
  }
  command -v npm >/dev/null || fetch nodejs npm || { lacking npm; return; }
  mkdir "$work/browser"
  "$here/looks/install.sh" "$work/browser" >"$work/npm.log" 2>&1 || { lacking playwright-core; return; }
  cp "$here"/e2e_{browser,markup}.mjs "$here/looks/looks.mjs" "$work/browser/"
  mkdir "$work/screenshots"
  # A daemon that the test can kill and start again.
  cat >"$work/restart" <<END
#!/usr/bin/env bash
if [[ -s "$work/page.pid" ]]; then
  kill -9 "\$(<"$work/page.pid")"
  # The kernel closes the port a moment later.
  for ((i = 0; i < 100; i++)); do
    (: <"/dev/tcp/127.0.0.1/\$(<"$work/page.port")") 2>/dev/null || break
    sleep 0.05
  done
fi
"$bin" serve --api-port "\$(<"$work/page.port")" --port-file "$work/page.port" --data-dir "$work/page" >>"$work/page.log" 2>&1 &
echo \$! >"$work/page.pid"
END
  chmod +x "$work/restart"
  echo 0 >"$work/page.port"
  "$work/restart"
  eventually 20 listens "$work/page.port"
  # Mostly waits, at another daemon.
  background markup timeout 400 node "$work/browser/e2e_markup.mjs" "$api" "$chromium" "$work"
  local markup=${pids[-1]}
  observed browser timeout 600 node "$work/browser/e2e_browser.mjs" "http://127.0.0.1:$(<"$work/page.port")" "$target" "$chromium" "$work/screenshots" "$work/restart"
  kill "$(<"$work/page.pid")"
  wait "$markup" || die "markup: $(tail -n 20 "$work/markup.log")"
  # Pictures are kept where one can look at them.
  LOOKS=$here/looks observed looks timeout 600 node "$work/browser/looks.mjs" check "$chromium" "${TMPDIR:-/tmp}/looks"

  # With tokens and TLS.
  command -v openssl >/dev/null || fetch openssl || { lacking openssl; return; }
  local TOKEN
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \
    -keyout "$work/key.pem" -out "$work/cert.pem" 2>"$work/openssl.log"
  TOKEN=$("$bin" token new --name e2e --scope admin --file "$work/tokens" 2>"$work/token.log")
  background guarded "$bin" serve --api-host 0.0.0.0 --api-port 0 --port-file "$work/guarded.port" --data-dir "$work/guarded" \
    --token-file "$work/tokens" --tls-cert "$work/cert.pem" --tls-key "$work/key.pem"
  eventually 20 "$bin" healthcheck --port-file "$work/guarded.port" --tls-cert "$work/cert.pem"
  cp "$here/e2e_login.mjs" "$work/browser/"
  TOKEN=$TOKEN observed login timeout 200 node "$work/browser/e2e_login.mjs" "https://localhost:$(<"$work/guarded.port")" "$chromium"
}

# observed NAME COMMAND…: prints the output of a command, whose end the clean-up prints again if it fails.
observed() {
  local log=$work/$1.log
  shift
  "$@" 2>&1 | tee "$log" || die "$(tail -n 30 "$log")"
}

# listens FILE: the file has the port of a daemon.
listens() { (($(<"$1") > 0)); }

# inside ARGS…: the program in the file tree of the container image, as the image's
# user, with the variables and in the folder that the Dockerfile names.
inside() {
  local as=() env
  ((EUID == 0)) || as=(sudo -n)
  read -ra env < <(sed -n 's/^ENV \(AIPERFD_.*\)/\1/p' Dockerfile)
  ((${#env[@]} > 2)) || die "the Dockerfile sets no variables"
  exec "${as[@]}" env -i "${env[@]}" unshare --root="$work/image/system" --wd="$(sed -n 's/^WORKDIR //p' Dockerfile | tail -n 1)" \
    --setgid 65534 --setuid 65534 /aiperfd "$@"
}

# The container image without an engine for containers: the tree that the
# Dockerfile copies, as a root folder.
stage_image() {
  local as=() root=$work/image/system
  ((EUID == 0)) || as=(sudo -n)
  "${as[@]}" unshare --root=/ true 2>"$work/unshare.log" || { lacking "the right to change the root folder"; return; }
  scripts/image.sh "$work/image" >"$work/image.log"
  cp -a "$work/image/nobody/." "$root/"
  "${as[@]}" chown -R 65534:65534 "$root/data"
  (inside version) | contains aiperfd

  background image-mock inside mock --port 0 --port-file /tmp/mock.port --fast
  eventually 10 test -s "$root/tmp/mock.port"
  (inside profile --model m --url "127.0.0.1:$(<"$root/tmp/mock.port")" --request-count 3 --tokenizer builtin) >"$work/image-profile.log" 2>&1
  [[ -s $root/out/artifacts/m-openai-chat-concurrency1/profile_export_aiperf.json ]] || die "no artifacts in the working directory"

  # The check of the image follows another port.
  (inside token new --name e2e --scope admin) >"$work/image-token"
  background image-serve inside serve --api-port 0
  eventually 10 "${as[@]}" test -s "$root/data/aiperfd.port"
  eventually 10 bash -c "$(declare -f inside die); work=$work; inside healthcheck"
  curl -fsS --max-time 5 -H "Authorization: Bearer $(<"$work/image-token")" \
    "http://127.0.0.1:$("${as[@]}" cat "$root/data/aiperfd.port")/api/queue" | contains '"queued":' || die "the token does not open the API"
  (inside demo --once) >"$work/image-demo.log" 2>&1
}

# perform STAGE: runs one stage and prints how long it took.
perform() {
  local begin=$SECONDS
  echo "--- $1"
  "stage_$1"
  echo "--- $1: $((SECONDS - begin)) s"
}

main() {
  [[ -x $bin ]] || die "bin/aiperfd is missing: run make build"
  local stage stages=("$@") docs=
  start
  if ((${#stages[@]} == 0)); then
    # The commands of the pages mostly wait, so they run beside stages that wait, too.
    (trap - EXIT && perform docs) &
    docs=$!
    pids+=("$docs")
    for stage in curl crash prometheus sdk vllm workloads; do perform "$stage"; done
    wait "$docs" || die "stage docs failed"
    stages=(browser image)
  fi
  for stage in "${stages[@]}"; do perform "$stage"; done
}
main "$@"
