package plan

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/config/secret"
	"aiperfd/internal/engine/redact"
	"aiperfd/internal/engine/telemetry"
)

const metricsPath = "/metrics"

const (
	lookUpEvery   = 30 * time.Second // a name is looked up
	readListEvery = 5 * time.Second  // a file of targets is read
)

// targetGroup is an element of a file of targets, as JSON or YAML, in the form of
// https://prometheus.io/docs/prometheus/latest/configuration/configuration/#file_sd_config.
type targetGroup struct {
	Targets []string          `yaml:"targets"` // HOST:PORT
	Labels  map[string]string `yaml:"labels"`  // of which the scheme and the path of the pages count
}

// listedPages returns the discovery of the pages that a file lists.
func (c *compiler) listedPages(name string) telemetry.Discovery {
	doc := c.doc
	if _, err := readTargets(doc, name); err != nil {
		c.problem("serverMetrics/urls", "file-not-allowed", "%s%s: %v", secret.TargetsFile, name, err)
	}
	return telemetry.Discovery{
		Shown: secret.TargetsFile + name, Every: readListEvery,
		Look: func(context.Context, telemetry.Lookup) ([]telemetry.Target, error) { return readTargets(doc, name) },
	}
}

// readTargets reads a file of targets.
func readTargets(doc *config.Document, name string) ([]telemetry.Target, error) {
	data, err := readFile(doc, name, maxSmallFile)
	if err != nil {
		return nil, err
	}
	return parseTargets(data)
}

// parseTargets returns the pages of a file of targets.
func parseTargets(data []byte) ([]telemetry.Target, error) {
	var groups []targetGroup
	if err := yaml.Unmarshal(data, &groups); err != nil {
		return nil, errors.New(`must be a JSON or YAML list of objects with "targets", a list of HOST:PORT, and "labels"`)
	}
	var out []telemetry.Target
	for i, g := range groups {
		scheme, path := "http", metricsPath
		if s := g.Labels["__scheme__"]; s != "" {
			scheme = s
		}
		if s := g.Labels["__metrics_path__"]; s != "" {
			path = s
		}
		for _, host := range g.Targets {
			u, err := url.Parse(scheme + "://" + host + path)
			if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Port() == "" || u.Path != path {
				shown := strings.TrimPrefix(redact.URL("http://"+host), "http://")
				return nil, fmt.Errorf("group %d: %q with scheme %q and path %q: must be HOST:PORT, http or https, and a path",
					i+1, shown, scheme, path)
			}
			page := telemetry.Target{Given: true, Apart: true, Candidates: []*url.URL{u}}
			out = append(out, page)
		}
	}
	return out, nil
}
