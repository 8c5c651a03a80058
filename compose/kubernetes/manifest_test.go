// Package kubernetes_test asks the API server's own code about what 'zkbench fleet kubernetes' prints: its strict decoder, its defaults and its
// validation. They are in a module of their own, because they bring 30 others. It has no strategies of the registry, which would bring etcd's client
// and gRPC; the few fields that these set are set here.
package kubernetes_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/batch"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	batchvalidation "k8s.io/kubernetes/pkg/apis/batch/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

// The files are held equal to what the command prints by a test of package main.
func TestTheAPIServerTakesTheManifests(t *testing.T) {
	for file, want := range map[string][]string{
		"../fleet/kubernetes.yml": {"ConfigMap", "Service", "Pod", "Job"},
		"testdata/shipped.yml":    {"ConfigMap", "Job"},
		"testdata/search.yml":     {"Service", "Pod", "Job"},
	} {
		var kinds []string
		for i, document := range documents(t, file) {
			kind, err := check(document)
			if err != nil {
				t.Errorf("%s: object %d: %v", file, i+1, err)
			}
			kinds = append(kinds, kind)
		}
		if fmt.Sprint(kinds) != fmt.Sprint(want) {
			t.Errorf("%s has %v, want %v", file, kinds, want)
		}
	}
}

func TestTheAPIServerRefusesWhatIsWrong(t *testing.T) {
	all := documents(t, "../fleet/kubernetes.yml")
	service, pod, job := all[1], all[2], all[3]
	for _, test := range []struct{ document, from, to, want string }{
		{job, "  completions: 3\n", "", "spec.completions: Required value"},
		{job, "backoffLimitPerIndex:", "backoffLimitPerIndx:", `unknown field "spec.backoffLimitPerIndx"`},
		{job, "podReplacementPolicy: Failed", "podReplacementPolicy: Never", "spec.podReplacementPolicy"},
		{job, "restartPolicy: Never", "restartPolicy: Always", "restartPolicy"},
		{job, "maxSkew: 1", "maxSkew: 0", "maxSkew"},
		{job, "mountPath: /profile", "mountPath: /results", "mountPath"},
		{job, "name: results, persistentVolumeClaim", "name: result, persistentVolumeClaim", `volumeMounts[1].name: Not found: "results"`},
		{job, `memory: "2Gi"`, `memory: "2Gb"`, "quantities must match"},
		{job, "  name: zkbench-locks-", "  name: " + strings.Repeat("zkbench-", 7) + "locks-", "metadata.name"},
		{pod, "drop: [ALL]", "drops: [ALL]", "unknown field"},
		{service, "port: 2181", "port: 0", "port"},
	} {
		changed := strings.ReplaceAll(test.document, test.from, test.to)
		if changed == test.document {
			t.Errorf("nothing has %q", test.from)
		}
		if _, err := check(changed); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("with %q for %q it is %v, want %q", test.to, test.from, err, test.want)
		}
	}
}

func documents(t *testing.T, file string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range bytes.Split(text, []byte("\n---\n")) {
		all = append(all, string(d)+"\n")
	}
	return all
}

// check reads an object as the API server does when it is created in the namespace default.
func check(document string) (kind string, err error) {
	object, is, err := serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDecoder().Decode([]byte(document), nil, nil)
	if err != nil {
		return "", err
	}
	var problems field.ErrorList
	switch o := object.(type) {
	case *core.ConfigMap:
		o.Namespace = "default"
		problems = corevalidation.ValidateConfigMap(o)
	case *core.Service:
		o.Namespace, o.Spec.ClusterIPs = "default", []string{o.Spec.ClusterIP}
		problems = corevalidation.ValidateServiceCreate(o)
	case *core.Pod:
		o.Namespace = "default"
		problems = corevalidation.ValidatePodCreate(o, corevalidation.PodValidationOptions{})
	case *batch.Job:
		o.Namespace, o.UID = "default", "7d9e2c54-0000-4000-8000-000000000000"
		own := map[string]string{batch.ControllerUidLabel: string(o.UID), batch.LegacyControllerUidLabel: string(o.UID), batch.JobNameLabel: o.Name, batch.LegacyJobNameLabel: o.Name}
		for key, value := range own {
			o.Spec.Template.Labels[key] = value
		}
		o.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batch.ControllerUidLabel: string(o.UID)}}
		problems = batchvalidation.ValidateJob(o, batchvalidation.JobValidationOptions{RequirePrefixedLabels: true})
	default:
		return is.Kind, fmt.Errorf("nobody expects a %v", is)
	}
	return is.Kind, problems.ToAggregate()
}
