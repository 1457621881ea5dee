package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/flags"
	"aiperfd/internal/engine/plan"
)

// manifest is what the tests read of a Kubernetes object.
type manifest struct {
	Kind     string            `yaml:"kind"`
	Metadata metadata          `yaml:"metadata"`
	Data     map[string]string `yaml:"data"`
	Spec     struct {
		Template    pod `yaml:"template"`
		JobTemplate struct {
			Spec struct {
				Template pod `yaml:"template"`
			} `yaml:"spec"`
		} `yaml:"jobTemplate"`
		Own         podSpec `yaml:",inline"` // of a Pod
		PodSelector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"podSelector"`
		PolicyTypes []string `yaml:"policyTypes"`
	} `yaml:"spec"`
}

type metadata struct {
	Name   string            `yaml:"name"`
	Labels map[string]string `yaml:"labels"`
}

// pod is a Pod or the template of one.
type pod struct {
	Metadata metadata `yaml:"metadata"`
	Spec     podSpec  `yaml:"spec"`
}

type podSpec struct {
	Automount    *bool          `yaml:"automountServiceAccountToken"`
	ServiceLinks *bool          `yaml:"enableServiceLinks"`
	HostNetwork  bool           `yaml:"hostNetwork"`
	Security     map[string]any `yaml:"securityContext"`
	Containers   []container    `yaml:"containers"`
}

type container struct {
	Args           []string       `yaml:"args"`
	Security       map[string]any `yaml:"securityContext"`
	Resources      map[string]any `yaml:"resources"`
	StartupProbe   probe          `yaml:"startupProbe"`
	ReadinessProbe probe          `yaml:"readinessProbe"`
	LivenessProbe  probe          `yaml:"livenessProbe"`
}

type probe struct {
	HTTP struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
}

// pods returns the pods that the object is or makes.
func (m manifest) pods() []pod {
	switch m.Kind {
	case "Pod":
		return []pod{{m.Metadata, m.Spec.Own}}
	case "Deployment", "Job":
		return []pod{m.Spec.Template}
	case "CronJob":
		return []pod{m.Spec.JobTemplate.Spec.Template}
	}
	return nil
}

// isolates tells whether the object is a network policy for both directions of the pod.
func (m manifest) isolates(p pod) bool {
	for label, value := range m.Spec.PodSelector.MatchLabels {
		if p.Metadata.Labels[label] != value {
			return false
		}
	}
	return m.Kind == "NetworkPolicy" && cmp.Equal(m.Spec.PolicyTypes, []string{"Ingress", "Egress"})
}

// rendered returns the objects that scripts/k8s.sh has rendered, by file.
func rendered(t *testing.T) map[string][]manifest {
	t.Helper()
	files, err := filepath.Glob("../../examples/k8s/testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]manifest{}
	for _, name := range files {
		if strings.HasPrefix(filepath.Base(name), "values-") {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for d := yaml.NewDecoder(bytes.NewReader(data)); ; {
			var m manifest
			if err := d.Decode(&m); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out[filepath.Base(name)] = append(out[filepath.Base(name)], m)
		}
	}
	if len(out) != 8 {
		t.Fatalf("%d rendered files, want 8", len(out))
	}
	return out
}

// TestKubernetesPods: all pods fulfil the restricted Pod Security Standard
// (https://kubernetes.io/docs/concepts/security/pod-security-standards/), cannot write to
// their image, and have no token of the cluster.
func TestKubernetesPods(t *testing.T) {
	everywhere := map[string]any{
		"runAsNonRoot": true, "runAsUser": uint64(65534), "runAsGroup": uint64(65534), "fsGroup": uint64(65534),
		"fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": map[string]any{"type": "RuntimeDefault"},
	}
	inside := map[string]any{
		"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": map[string]any{"drop": []any{"ALL"}},
	}
	pods := 0
	for file, objects := range rendered(t) {
		for _, m := range objects {
			for _, p := range m.pods() {
				pods++
				name := file + ": " + m.Kind + " " + m.Metadata.Name
				if !slices.ContainsFunc(objects, func(m manifest) bool { return m.isolates(p) }) {
					t.Errorf("%s: no network policy for both directions", name)
				}
				if s := p.Spec; s.Automount == nil || *s.Automount || s.ServiceLinks == nil || *s.ServiceLinks || s.HostNetwork {
					t.Errorf("%s: token of the cluster, service links or network of the host", name)
				}
				if diff := cmp.Diff(everywhere, p.Spec.Security); diff != "" {
					t.Errorf("%s: security context of the pod (-want +got):\n%s", name, diff)
				}
				for _, c := range p.Spec.Containers {
					if diff := cmp.Diff(inside, c.Security); diff != "" {
						t.Errorf("%s: security context of the container (-want +got):\n%s", name, diff)
					}
					if c.Resources["requests"] == nil || c.Resources["limits"] == nil {
						t.Errorf("%s: resources %v", name, c.Resources)
					}
				}
			}
		}
	}
	if pods != 10 {
		t.Errorf("%d pods, want 10", pods)
	}
}

// TestKubernetesArguments: serve and profile accept the arguments of the containers, and
// the probes are those of the daemon.
func TestKubernetesArguments(t *testing.T) {
	seen := map[string]int{}
	for file, objects := range rendered(t) {
		for _, m := range objects {
			for _, p := range m.pods() {
				c := p.Spec.Containers[0]
				if m.Kind == "Pod" {
					continue // copies results with another program
				}
				seen[c.Args[0]]++
				switch c.Args[0] {
				case "serve":
					if err := newServeCommand().ParseFlags(c.Args[1:]); err != nil {
						t.Errorf("%s: %v", file, err)
					}
					got := []string{c.StartupProbe.HTTP.Path, c.ReadinessProbe.HTTP.Path, c.LivenessProbe.HTTP.Path}
					if diff := cmp.Diff([]string{"/healthz", "/readyz", "/healthz"}, got); diff != "" {
						t.Errorf("%s: probes (-want +got):\n%s", file, diff)
					}
				case "profile":
					if _, err := flags.Parse(c.Args[1:], func(string) (string, bool) { return "", false }); err != nil {
						t.Errorf("%s: %v", file, err)
					}
				default:
					t.Errorf("%s: command %s", file, c.Args[0])
				}
			}
		}
	}
	if seen["serve"] != 5 || seen["profile"] != 4 {
		t.Errorf("containers by command: %v", seen)
	}
}

// TestKubernetesDocuments: the benchmark documents in the manifests are valid.
func TestKubernetesDocuments(t *testing.T) {
	documents := 0
	for file, objects := range rendered(t) {
		for _, m := range objects {
			if m.Kind != "ConfigMap" {
				continue
			}
			documents++
			_, warnings, err := config.Load([]byte(m.Data["bench.yaml"]), config.LoadOptions{Format: config.YAML, Choices: plan.Choices()})
			if err != nil || len(warnings) > 0 {
				t.Errorf("%s: %v %v", file, warnings, err)
			}
		}
	}
	if documents != 4 {
		t.Errorf("%d documents, want 4", documents)
	}
}
