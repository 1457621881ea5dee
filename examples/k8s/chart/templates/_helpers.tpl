{{- /* The name of everything: the release's, with the chart's unless it contains that.
     At most 43 characters: a CronJob, NAME-profile, may have 52. */}}
{{- define "aiperfd.name" -}}
{{- if contains "aiperfd" .Release.Name }}{{ .Release.Name | trunc 43 | trimSuffix "-" }}
{{- else }}{{ printf "%s-aiperfd" (.Release.Name | trunc 35 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "aiperfd.selector" -}}
app.kubernetes.io/name: aiperfd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "aiperfd.labels" -}}
{{ include "aiperfd.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "aiperfd.image" -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag }}{{ end }}
{{- end }}

{{- /* What all pods have: no privileges, no token of the cluster. */}}
{{- define "aiperfd.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false # AIPERFD_… variables are flags
terminationGracePeriodSeconds: 90 # longer than the 30 s that requests in flight may take, and the export
securityContext:
  runAsNonRoot: true
  runAsUser: 65534
  runAsGroup: 65534
  fsGroup: 65534
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "aiperfd.container" -}}
name: aiperfd
image: {{ include "aiperfd.image" .Values.image | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
resources: {{ toJson .Values.resources }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- /* A claim for NAME with the values of PERSISTENCE. */}}
{{- define "aiperfd.claim" -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ .name }}
  labels: {{- include "aiperfd.labels" .root | nindent 4 }}
  annotations: {helm.sh/resource-policy: keep} # uninstalling keeps the results
spec:
  accessModes: [ReadWriteOnce]
  {{- with .persistence.storageClass }}
  storageClassName: {{ . | quote }}
  {{- end }}
  resources:
    requests: {storage: {{ .persistence.size | quote }}}
{{- end }}

{{- /* Egress to DNS and to the targets. */}}
{{- define "aiperfd.egress" -}}
{{- with .dns }}
- to: {{ toJson . }}
  ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
{{- end }}
{{- with .targets }}
- to: {{ toJson . }}
{{- end }}
{{- end }}
