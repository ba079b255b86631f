{{- define "agent-sandbox.labels" -}}
{{ include "agent-sandbox.selector" .root }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: agent-sandbox
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* Like the chart of the reference implementation, whose Deployment this one can replace: a selector cannot be changed. */ -}}
{{- define "agent-sandbox.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "agent-sandbox.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "agent-sandbox.runtimeImage" -}}
{{ .Values.runtime.image.repository }}:{{ .Values.runtime.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{- define "agent-sandbox.priorityClass" -}}
{{- with .Values.priorityClass.name }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- /* The rule for the port of the metrics, if only some peers may connect to it. */ -}}
{{- define "agent-sandbox.metricsIngress" -}}
{{- with .root.Values.networkPolicy.metricsFrom }}
- from:
  {{- toYaml . | nindent 2 }}
  ports:
  - { protocol: TCP, port: {{ $.port }} }
{{- end }}
{{- end -}}

{{- /* The flags of the reference implementation's chart: a flag is rendered if its value is set. */ -}}
{{- define "agent-sandbox.flags" -}}
{{- range $value, $flag := dict
  "leaderElect" "leader-elect"
  "extensions" "extensions"
  "clusterDomain" "cluster-domain"
  "leaderElectionNamespace" "leader-election-namespace"
  "enableTracing" "enable-tracing"
  "enablePprof" "enable-pprof"
  "enablePprofDebug" "enable-pprof-debug"
  "pprofBlockProfileRate" "pprof-block-profile-rate"
  "pprofMutexProfileFraction" "pprof-mutex-profile-fraction"
  "kubeApiQps" "kube-api-qps"
  "kubeApiBurst" "kube-api-burst"
  "sandboxConcurrentWorkers" "sandbox-concurrent-workers"
  "sandboxClaimConcurrentWorkers" "sandbox-claim-concurrent-workers"
  "sandboxWarmPoolConcurrentWorkers" "sandbox-warm-pool-concurrent-workers"
  "sandboxTemplateConcurrentWorkers" "sandbox-template-concurrent-workers"
  "sandboxWarmPoolMaxBatchSize" "sandbox-warm-pool-max-batch-size"
  "sandboxWarmPoolReadinessGracePeriod" "sandbox-warm-pool-readiness-grace-period"
  "sandboxWarmPoolUnschedulableRecheckInterval" "sandbox-warm-pool-unschedulable-recheck-interval"
  "enableWarmPoolEviction" "enable-warm-pool-eviction" }}
{{- if hasKey $.Values.controller $value }}
{{- $set := index $.Values.controller $value }}
{{- if not (kindIs "invalid" $set) }}
{{- /* Helm reads numbers as floating point, which would be printed as 1e+06. */}}
- {{ printf "--%s=%s" $flag (kindIs "float64" $set | ternary ($set | toJson) ($set | toString)) | quote }}
{{- end }}
{{- end }}
{{- end }}
- {{ printf "--runtime-image=%s" (.Values.runtime.enabled | ternary (include "agent-sandbox.runtimeImage" .) "") | quote }}
- {{ printf "--runtime-image-pull-policy=%s" .Values.runtime.image.pullPolicy | quote }}
- {{ printf "--webhook-namespace=%s" .Values.namespace.name | quote }}
- {{ printf "--webhook-service-name=%s" .Values.webhookServiceName | quote }}
- {{ printf "--router-namespace=%s" .Values.namespace.name | quote }}
{{- range .Values.controller.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "agent-sandbox.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}
metadata:
  name: {{ .name }}
  {{- if eq .kind "Role" }}
  namespace: {{ .root.Values.namespace.name }}
  {{- end }}
  labels:
    {{- include "agent-sandbox.labels" . | nindent 4 }}
{{ include (printf "agent-sandbox.rules.%s" .rules) .root }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .name }}
  {{- if eq .kind "Role" }}
  namespace: {{ .root.Values.namespace.name }}
  {{- end }}
  labels:
    {{- include "agent-sandbox.labels" . | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  name: {{ .account }}
  namespace: {{ .root.Values.namespace.name }}
{{- end -}}

{{- /* A role that Kubernetes adds to the default role `to`. */ -}}
{{- define "agent-sandbox.userRole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ .name }}
  labels:
    rbac.authorization.k8s.io/aggregate-to-{{ .to }}: "true"
    {{- include "agent-sandbox.labels" . | nindent 4 }}
{{ include (printf "agent-sandbox.rules.%s" .rules) .root }}
{{- end -}}
