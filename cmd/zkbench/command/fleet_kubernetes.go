package command

import (
	"fmt"
	"regexp"
	"strings"
)

// kubernetesJob returns a manifest for 'kubectl create'. Without backoffLimitPerIndex the first share that fails would end all others, and a replaced
// pod would start its share again. JOB_COMPLETION_INDEX is expanded in arguments, but not in variables before it. CPUs have no limit, because a
// throttled generator measures its throttling.
func kubernetesJob(m manifest) string {
	var b strings.Builder
	write := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	write("# %s by %d shares, for Kubernetes 1.29 and later. Start it with: kubectl create -f FILE\n", m.What, m.Shares)
	if m.Claim != "" {
		write("# Results are in the volume claim %s.\n", m.Claim)
	}
	write("# Everything created stays, logs included, until 'kubectl delete -f FILE'.\n")
	if m.Text != "" {
		write(`apiVersion: v1
kind: ConfigMap
metadata:
  name: %s
data:
  profile.yaml: |
%s
---
`, m.Name, blockOf(m.Text))
	}
	if m.Coordinator != "" {
		write(`# The shares look up the coordinator's name while it starts.
apiVersion: v1
kind: Service
metadata:
  name: %s-coordinator
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {zkbench: %s-coordinator}
  ports: [{name: client, port: 2181}]
---
# A restarted coordinator would have lost the run.
apiVersion: v1
kind: Pod
metadata:
  name: %s-coordinator
  labels: {zkbench: %s-coordinator}
spec:
  restartPolicy: Never
`, m.Name, m.Name, m.Name, m.Name)
		if m.Deadline > 0 {
			write("  activeDeadlineSeconds: %d\n", m.Deadline)
		}
		write(`  automountServiceAccountToken: false
  enableServiceLinks: false
  securityContext: {runAsUser: 1000, runAsGroup: 1000, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
  - name: coordinator
    image: %s
    env: [{name: ZK_SERVER_HEAP, value: "512"}]
    ports: [{containerPort: 2181}]
    resources: {requests: {cpu: 250m, memory: 1Gi}, limits: {memory: 1Gi}}
    securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
---
`, plain(m.Coordinator))
	}
	write(`apiVersion: batch/v1
kind: Job
metadata:
  name: %s
spec:
  completionMode: Indexed
  completions: %d
  parallelism: %d
  backoffLimitPerIndex: 0
  podReplacementPolicy: Failed
`, m.Name, m.Shares, m.Shares)
	if m.Deadline > 0 {
		write("  activeDeadlineSeconds: %d\n", m.Deadline)
	}
	write(`  template:
    metadata:
      labels: {zkbench: %s}
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
        labelSelector: {matchLabels: {zkbench: %s}}
      containers:
      - name: share
        image: %s
        args:
`, m.Name, m.Name, plain(m.Image))
	for _, argument := range arguments(m) {
		write("        - %s\n", quoted(argument))
	}
	write(`        - --share
        - index:$(JOB_COMPLETION_INDEX)/%d
        - --meet
        - %s
`, m.Shares, quoted(m.Meet))
	if m.Ship != "" {
		write("        env: [{name: ZKBENCH_SHIP, value: %s}]\n", quoted(m.Ship))
	}
	write(`        resources: {requests: {cpu: %s, memory: %s}, limits: {memory: %s}}
        securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
        volumeMounts:
`, plain(m.CPUs), plain(m.Memory), plain(m.Memory))
	if m.Text != "" {
		write("        - {name: profile, mountPath: /profile}\n")
	}
	write(`        - {name: results, mountPath: /results}
      volumes:
`)
	if m.Text != "" {
		write("      - {name: profile, configMap: {name: %s}}\n", m.Name)
	}
	if m.Claim != "" {
		write("      - {name: results, persistentVolumeClaim: {claimName: %s}}\n", plain(m.Claim))
	} else {
		write("      - {name: results, emptyDir: {}}\n")
	}
	return b.String()
}

// kubernetesName names the objects of a run after its profile and the last characters of its name. The longest name made from it must be a DNS label.
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

// blockOf indents a text as a YAML block.
func blockOf(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}
