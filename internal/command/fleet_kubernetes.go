package command

import (
	"regexp"
	"strings"
	"text/template"
)

// kubernetesJob is a manifest for 'kubectl create'. Without backoffLimitPerIndex the first share that fails would end all others, and a pod that is
// replaced would be a share that is started again. Arguments are given JOB_COMPLETION_INDEX; variables before it are not. CPUs have no limit,
// because a throttled generator measures its throttling.
var kubernetesJob = template.Must(template.New("kubernetes").Funcs(template.FuncMap{"json": quoted, "plain": plain, "arguments": arguments, "lines": blockOf}).Parse(
	`# {{.What}} by {{.Shares}} shares, for Kubernetes 1.29 and later. Start it with: kubectl create -f FILE
{{- if .Claim}}
# Results are in the volume claim {{.Claim}}.
{{- end}}
# Everything created stays, logs included, until 'kubectl delete -f FILE'.
{{- if .Text}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{.Name}}
data:
  profile.yaml: |
{{lines .Text}}
---
{{- end}}
{{- if .Coordinator}}
# The shares look up the coordinator's name while it starts.
apiVersion: v1
kind: Service
metadata:
  name: {{.Name}}-coordinator
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {zkbench: {{.Name}}-coordinator}
  ports: [{name: client, port: 2181}]
---
# A restarted coordinator would have lost the run.
apiVersion: v1
kind: Pod
metadata:
  name: {{.Name}}-coordinator
  labels: {zkbench: {{.Name}}-coordinator}
spec:
  restartPolicy: Never
{{- if .Deadline}}
  activeDeadlineSeconds: {{.Deadline}}
{{- end}}
  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext: {runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: coordinator
    image: {{plain .Coordinator}}
    env: [{name: ZK_SERVER_HEAP, value: "512"}]
    ports: [{containerPort: 2181}]
    resources: {requests: {cpu: 250m, memory: 1Gi}, limits: {memory: 1Gi}}
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
---
{{- end}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{.Name}}
spec:
  completionMode: Indexed
  completions: {{.Shares}}
  parallelism: {{.Shares}}
  backoffLimitPerIndex: 0
  podReplacementPolicy: Failed
{{- if .Deadline}}
  activeDeadlineSeconds: {{.Deadline}}
{{- end}}
  template:
    metadata:
      labels: {zkbench: {{.Name}}}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 60
      automountServiceAccountToken: false
      enableServiceLinks: false
      securityContext: {runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true, fsGroup: 1000, seccompProfile: {type: RuntimeDefault}}
      topologySpreadConstraints:
      - topologyKey: kubernetes.io/hostname
        maxSkew: 1
        whenUnsatisfiable: DoNotSchedule
        nodeTaintsPolicy: Honor
        labelSelector: {matchLabels: {zkbench: {{.Name}}}}
      containers:
      - name: share
        image: {{plain .Image}}
        args:
{{- range arguments .}}
        - {{json .}}
{{- end}}
        - --share
        - index:$(JOB_COMPLETION_INDEX)/{{.Shares}}
        - --meet
        - {{json .Meet}}
{{- if .Ship}}
        env: [{name: ZKBENCH_SHIP, value: {{json .Ship}}}]
{{- end}}
        resources: {requests: {cpu: {{plain .CPUs}}, memory: {{plain .Memory}}}, limits: {memory: {{plain .Memory}}}}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        volumeMounts:
{{- if .Text}}
        - {name: profile, mountPath: /profile}
{{- end}}
        - {name: results, mountPath: /results}
      volumes:
{{- if .Text}}
      - {name: profile, configMap: {name: {{.Name}}}}
{{- end}}
{{- if .Claim}}
      - {name: results, persistentVolumeClaim: {claimName: {{plain .Claim}}}}
{{- else}}
      - {name: results, emptyDir: {}}
{{- end}}
`))

// The objects of a run are named after its profile and the last letters of its name. The longest name made of it has to be a label of DNS.
func kubernetesName(profile, run string) string {
	word := strings.Trim(notOfNames.ReplaceAllString(strings.ToLower(profile), "-"), "-")
	return "zkbench-" + strings.TrimRight(word[:min(len(word), 36)], "-") + run[strings.LastIndexByte(run, '-'):]
}

var (
	notOfNames = regexp.MustCompile(`[^a-z0-9]+`)
	claimName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)
	cpuAmount  = regexp.MustCompile(`^([1-9][0-9]{0,3}(\.[0-9]{1,3})?|0?\.[0-9]{0,2}[1-9]|[1-9][0-9]{0,6}m)$`)
	memAmount  = regexp.MustCompile(`^[1-9][0-9]{0,11}([KMGT]i|[kMGT])?$`)
)

// plain is a value in YAML where a dollar is one.
func plain(v any) (string, error) {
	text, err := quoted(v)
	return strings.ReplaceAll(text, "$$", "$"), err
}

// blockOf is a text in a block of YAML.
func blockOf(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
