#!/usr/bin/env bash
# Builds an OpenTelemetry Collector from its modules, in a module of its own in a
# temporary folder, and runs the test that sends metrics and spans through it:
#
#   scripts/otelcol.sh [FILE]   # keeps the collector as FILE, or takes it from there
#
# It needs the Go module proxy, and about 70 s of CPU for the first build.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly version=v0.146.1
work=$(mktemp -d)
readonly work
trap 'rm -rf "$work"' EXIT
collector=${1:-$work/otelcol}
if [[ ! -x $collector ]]; then
  mkdir "$work/module"
  cp scripts/otelcol/collector.go.txt "$work/module/main.go"
  (
    cd "$work/module"
    go mod init otelcol
    go get "go.opentelemetry.io/collector/otelcol@$version" \
      "go.opentelemetry.io/collector/receiver/otlpreceiver@$version" \
      "go.opentelemetry.io/collector/exporter/debugexporter@$version" \
      "go.opentelemetry.io/collector/exporter/otlphttpexporter@$version"
    go build -mod=mod -o "$work/built" .
  ) >"$work/build.log" 2>&1 || { tail -n 20 "$work/build.log" >&2; exit 1; }
  mv "$work/built" "$collector"
fi
AIPERFD_OTELCOL=$(realpath "$collector") go test ./internal/engine -run 'TestCollector$' -count 1 -v
