#!/bin/bash
# Checks examples/k8s: renders the Helm chart and the kustomizations, compares them with
# examples/k8s/testdata (which tests in cmd/aiperfd read; UPDATE=1 rewrites it), and
# validates all by the schemas of Kubernetes and of the Prometheus Operator, in which
# unknown fields are errors.
# helm, kustomize and kubeconform are built from their Go modules into TOOLS.
set -euo pipefail
cd "$(dirname "$0")/.."
kubernetes=v1.37.2 operator=v0.85.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools=${TOOLS:-$work/bin}

die() {
  echo "k8s: $*" >&2
  exit 1
}
tool() { # tool NAME MODULE@VERSION
  [[ -x $tools/$1 ]] || (cd "$work" && GOBIN=$tools CGO_ENABLED=0 go install "$2")
}
tool helm helm.sh/helm/v3/cmd/helm@v3.22.0
tool kustomize sigs.k8s.io/kustomize/kustomize/v5@v5.8.2
tool kubeconform github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
folder() { (cd "$work" && go mod download -json "$1") | jq -r .Dir; }

# One schema per kind, with all definitions, from Kubernetes' API document: objects have
# no other properties, and what may be a number or a text is either.
mkdir "$work/schemas" "$work/rendered"
definitions=$(folder k8s.io/kubernetes@$kubernetes)/api/openapi-spec/swagger.json
jq '.definitions | map_values(
    if .properties and (.additionalProperties | not) then .additionalProperties = false
    elif .format == "int-or-string" then {oneOf: [{type: "string"}, {type: "integer"}]} else . end)' "$definitions" >"$work/definitions.json"
for kind in apps.v1.Deployment batch.v1.CronJob batch.v1.Job core.v1.ConfigMap core.v1.PersistentVolumeClaim \
  core.v1.Pod core.v1.Secret core.v1.Service networking.v1.NetworkPolicy; do
  jq --arg ref "#/definitions/io.k8s.api.$kind" '{definitions: ., "$ref": $ref}' "$work/definitions.json" >"$work/schemas/$(tr A-Z a-z <<<"${kind##*.}").json"
done
# The operator's definition is YAML, which helm turns into JSON.
mkdir -p "$work/convert/templates"
printf 'apiVersion: v2\nname: convert\nversion: 0.0.0\n' >"$work/convert/Chart.yaml"
echo '{{ .Files.Get "crd.yaml" | fromYaml | toJson }}' >"$work/convert/templates/crd.json"
cp "$(folder github.com/prometheus-operator/prometheus-operator@$operator)/example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml" \
  "$work/convert/crd.yaml"
"$tools/helm" template convert "$work/convert" | sed -n '/^{/p' | jq '.spec.versions[0].schema.openAPIV3Schema | walk(
    if type == "object" and (.properties | type) == "object" and .type == "object" then .additionalProperties = false else . end)
    | .properties.metadata = {type: "object"}' >"$work/schemas/servicemonitor.json"

chart() { "$tools/helm" template "$@" --kube-version "$kubernetes" --namespace default; }
"$tools/helm" lint --quiet --strict --kube-version $kubernetes examples/k8s/chart
chart aiperfd examples/k8s/chart >"$work/rendered/chart.yaml"
chart bench examples/k8s/chart -f examples/k8s/testdata/values-full.yaml >"$work/rendered/chart-full.yaml"
chart once examples/k8s/chart -f examples/k8s/testdata/values-once.yaml >"$work/rendered/chart-once.yaml"
for dir in examples/k8s/base examples/k8s/overlays/*; do
  "$tools/kustomize" build "$dir" >"$work/rendered/${dir##*/}.yaml"
done
(echo --- && cat examples/k8s/profile/results.yaml) >>"$work/rendered/once.yaml"

check() { "$tools/kubeconform" -strict -summary -schema-location "$work/schemas/{{ .ResourceKind }}.json" "$@"; }
check "$work"/rendered/*.yaml
# A schema that accepts everything would accept this as well.
sed 's/readOnlyRootFilesystem/readOnlyRootFileSystem/' "$work/rendered/base.yaml" | check >"$work/wrong.log" && die "a misspelt field passes"
sed 's/interval: 5s/intervall: 5s/' "$work/rendered/prometheus.yaml" | check >>"$work/wrong.log" && die "a misspelt field of ServiceMonitor passes"

# What the chart must refuse: an unknown value, a token in place of its hash, two sources of
# tokens, metrics that nobody can read, a benchmark without a document.
refused() {
  if chart x examples/k8s/chart "$@" >/dev/null 2>"$work/refused.log"; then die "the chart accepts $*"; fi
  grep -q "$want" "$work/refused.log" || die "the chart refuses $* by: $(<"$work/refused.log")"
}
want="'replicas'" refused --set daemon.replicas=2
want="/daemon/tokens/lines/0" refused --set 'daemon.tokens.lines={me:admin:aiperfd_token}'
want="exclude each other" refused --set "daemon.tokens.lines={me:admin:$(printf '%064d' 0)}" --set daemon.tokens.existingSecret=tokens
want="serviceMonitor.tokenSecret.name" refused --set serviceMonitor.enabled=true
want="benchmark document is missing" refused --set profile.enabled=true

if [[ ${UPDATE:-} ]]; then
  cp "$work"/rendered/*.yaml examples/k8s/testdata/
fi
for f in "$work"/rendered/*.yaml; do
  diff -u "examples/k8s/testdata/${f##*/}" "$f" || die "testdata is not up to date: run UPDATE=1 make k8s"
done
