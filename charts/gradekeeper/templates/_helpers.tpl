{{/* The chart's name. */}}
{{- define "gradekeeper.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Prefix of all object names: at most 40 characters, so that the longest suffix stays below 63. */}}
{{- define "gradekeeper.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "gradekeeper.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "gradekeeper.selectorLabels" -}}
app.kubernetes.io/name: {{ include "gradekeeper.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{/* managed-by says Helm here; `managed-by: gradekeeper` is the mark of grading Pods alone. */}}
{{- define "gradekeeper.labels" -}}
{{ include "gradekeeper.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "gradekeeper.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "gradekeeper.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name is needed when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "gradekeeper.username" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "gradekeeper.serviceAccount" . }}
{{- end -}}

{{- define "gradekeeper.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "gradekeeper.signingSecret" -}}
{{- default (printf "%s-signing-key" (include "gradekeeper.fullname" .)) .Values.signingKey.existingSecret -}}
{{- end -}}

{{- define "gradekeeper.verdictKey" -}}
{{- printf "%s-verdict-key" (include "gradekeeper.fullname" .) -}}
{{- end -}}

{{- define "gradekeeper.authors" -}}
{{- printf "%s-authors" (include "gradekeeper.fullname" .) -}}
{{- end -}}

{{/* Names of the grading namespaces, separated by commas. */}}
{{- define "gradekeeper.namespaces" -}}
{{- $names := list -}}
{{- range .Values.gradingNamespaces -}}
{{- if eq .name $.Release.Namespace -}}
{{- fail (printf "gradingNamespaces: %q is the operator's own namespace; submitted code and the signing key do not share one" .name) -}}
{{- end -}}
{{- if has .name $names -}}
{{- fail (printf "gradingNamespaces: %q is listed twice" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- join "," $names -}}
{{- end -}}

{{- define "gradekeeper.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}
