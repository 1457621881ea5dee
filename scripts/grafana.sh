#!/usr/bin/env bash
# Starts a Prometheus with the files of examples/prometheus, and Grafana with those of
# examples/grafana if there is one, and keeps them until Ctrl-C.
#
#   scripts/grafana.sh [HOST:PORT]     scrape that daemon (default 127.0.0.1:9097)
#
# Prometheus is taken from the PATH, otherwise from Debian's package, which is unpacked
# and not installed. Debian has no package of Grafana: unpack an archive of
# https://grafana.com/grafana/download and name its folder by GRAFANA_HOME, or have
# grafana (10 or later) in the PATH.
# With PROMETHEUS_FLAGS=--enable-feature=native-histograms, Prometheus 2.40 to 3.7 stores
# native histograms. AIPERFD_TOKEN_FILE names a file with a token of the scope read.
# Ports: PROMETHEUS_PORT (9090) and GRAFANA_PORT (3000).
set -euo pipefail
cd "$(dirname "$0")/.."
readonly daemon=${1:-127.0.0.1:9097} port=${PROMETHEUS_PORT:-9090} web=${GRAFANA_PORT:-3000}
work=$(mktemp -d)
readonly work
pids=()
cleanup() {
  local pid
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 0' INT TERM

die() {
  echo "grafana.sh: $*" >&2
  exit 1
}

tools=$PATH
if ! command -v prometheus >/dev/null; then
  (cd "$work" && apt-get download prometheus >apt.log 2>&1 && dpkg-deb -x prometheus_*.deb prometheus) ||
    die "no prometheus in the PATH, and apt-get download prometheus fails"
  tools=$work/prometheus/usr/bin:$PATH
fi

# The files as they are, with another address of the daemon, and its token.
cp examples/prometheus/*.yml "$work"
sed -i "s/127\.0\.0\.1:9097/$daemon/; s/scrape_interval: 5s/scrape_interval: ${SCRAPE_INTERVAL:-5s}/" "$work/prometheus.yml"
if [[ -n ${AIPERFD_TOKEN_FILE:-} ]]; then
  sed -i "s|^    # authorization: .*|    authorization: {credentials_file: $(realpath "$AIPERFD_TOKEN_FILE")}|" "$work/prometheus.yml"
fi
# shellcheck disable=SC2086 # several flags
PATH=$tools prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" \
  --web.listen-address="127.0.0.1:$port" ${PROMETHEUS_FLAGS:-} >"$work/prometheus.log" 2>&1 &
pids+=($!)
for _ in {1..100}; do
  curl -fs --max-time 2 "http://127.0.0.1:$port/-/ready" >/dev/null && break
  kill -0 "${pids[0]}" 2>/dev/null || { tail "$work/prometheus.log" >&2; die "Prometheus does not start"; }
  sleep 0.2
done
echo "Prometheus: http://127.0.0.1:$port (scrapes $daemon)"

home=${GRAFANA_HOME:-}
server=$(command -v grafana || true)
if [[ -n $home ]]; then
  server=$home/bin/grafana
elif [[ -n $server ]]; then
  home=/usr/share/grafana
fi
if [[ -n $server ]]; then
  [[ -x $server ]] || die "$server is not there; GRAFANA_HOME is the folder that holds bin/grafana"
  AIPERFD_PROMETHEUS_URL=http://127.0.0.1:$port AIPERFD_DASHBOARDS=$PWD/examples/grafana/dashboards \
    GF_PATHS_PROVISIONING=$PWD/examples/grafana/provisioning GF_PATHS_DATA=$work/grafana GF_PATHS_LOGS=$work/grafana \
    GF_SERVER_HTTP_ADDR=127.0.0.1 GF_SERVER_HTTP_PORT=$web GF_AUTH_ANONYMOUS_ENABLED=true \
    GF_ANALYTICS_REPORTING_ENABLED=false GF_ANALYTICS_CHECK_FOR_UPDATES=false \
    "$server" server --homepath "$home" >"$work/grafana.log" 2>&1 &
  pids+=($!)
  echo "Grafana: http://127.0.0.1:$web/d/aiperfd-runs"
else
  echo "Grafana: none here. Set GRAFANA_HOME, or import examples/grafana/dashboards/*.json into yours."
fi
wait -n "${pids[@]}" || { tail "$work"/*.log >&2; die "a server has ended"; }
