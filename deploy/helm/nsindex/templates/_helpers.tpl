{{- define "nsindex.fullname" -}}
{{- if contains "nsindex" .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-nsindex" .Release.Name | trunc 50 | trimSuffix "-" }}{{ end -}}
{{- end -}}

{{/* Labels that select the pods of a component: (list root component) */}}
{{- define "nsindex.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: nsindex
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "nsindex.labels" -}}
{{- $root := index . 0 -}}
{{ include "nsindex.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end -}}

{{/* As the Dockerfile has it: user 65532, nothing writable but volumes. No token of the cluster. */}}
{{- define "nsindex.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "nsindex.container" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{/* Environment of an indexer or a reader: (dict "root" "database" "schema" "settings") */}}
{{- define "nsindex.environment" -}}
{{- $values := .root.Values -}}
env:
  - name: DATABASE_URL
    valueFrom: { secretKeyRef: { name: {{ .database.secretName }}, key: {{ .database.secretKey }} } }
  - { name: DATABASE_SCHEMA, value: {{ .schema | quote }} }
  - { name: DATABASE_STABLE_SCHEMA, value: {{ $values.database.stableSchema | quote }} }
  - { name: SWITCH_WHEN_READY, value: "true" }
  - { name: PORT, value: "42069" }
  {{- if and $values.labels.enabled (not .settings.LABELS_URL) }}
  - { name: LABELS_URL, value: "http://{{ include "nsindex.fullname" .root }}-labels:3223" }
  {{- end }}
  {{- range $name, $value := .settings }}
  - { name: {{ $name }}, value: {{ $value | quote }} }
  {{- end }}
{{- with $values.settingsSecrets }}
envFrom:
  {{- range . }}
  - secretRef: { name: {{ . }} }
  {{- end }}
{{- end }}
{{- end -}}

{{/* Volumes of an indexer or a reader. */}}
{{- define "nsindex.mounts" -}}
volumeMounts:
  - { name: tmp, mountPath: /tmp }
  - { name: ponder, mountPath: /app/.ponder }
{{- end -}}
{{- define "nsindex.volumes" -}}
volumes:
  - { name: tmp, emptyDir: {} }
  - { name: ponder, emptyDir: {} }
{{- end -}}

{{/*
The process waits for its dependencies before it listens: a start may take as long as a node, the database or the first index is unavailable. So
the first answer of /health is awaited for an hour, and a restart then only begins the wait anew. Ponder is started again after an outage of a minute, during
which /health is unavailable: hence five minutes before a restart.
*/}}
{{- define "nsindex.alive" -}}
startupProbe:
  httpGet: { path: /health, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 360
livenessProbe:
  httpGet: { path: /health, port: http }
  periodSeconds: 15
  timeoutSeconds: 10
  failureThreshold: 20
{{- end -}}
