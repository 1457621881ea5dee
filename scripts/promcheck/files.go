package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// rules is a file of Prometheus rules.
type rules struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []struct {
			Record string `yaml:"record"`
			Alert  string `yaml:"alert"`
			Expr   string `yaml:"expr"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// readRules returns the expressions of rules, and what recording rules have recorded.
func readRules(name string) ([]question, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var r rules
	if err := yaml.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("decode %s: %w", name, err)
	}
	var out []question
	for _, g := range r.Groups {
		for _, rule := range g.Rules {
			q := question{where: name + ": " + rule.Record + rule.Alert, expr: rule.Expr, alert: rule.Alert != ""}
			out = append(out, q)
			if rule.Record != "" {
				out = append(out, question{where: q.where, expr: rule.Record})
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no rules", name)
	}
	return out, nil
}

// dashboard is what is checked of a Grafana dashboard.
type dashboard struct {
	UID           string  `json:"uid"`
	Title         string  `json:"title"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []panel `json:"panels"`
	Templating    struct {
		List []variable `json:"list"`
	} `json:"templating"`
	Annotations struct {
		List []struct {
			Name       string     `json:"name"`
			BuiltIn    int        `json:"builtIn"`
			Expr       string     `json:"expr"`
			Datasource datasource `json:"datasource"`
		} `json:"list"`
	} `json:"annotations"`
}

type panel struct {
	ID          int        `json:"id"`
	Type        string     `json:"type"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Datasource  datasource `json:"datasource"`
	Grid        struct {
		X, Y, W, H int
	} `json:"gridPos"`
	Field struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	Panels  []panel `json:"panels"` // of a row that is closed
	Targets []struct {
		RefID      string     `json:"refId"`
		Expr       string     `json:"expr"`
		Datasource datasource `json:"datasource"`
	} `json:"targets"`
}

type variable struct {
	Name       string `json:"name"`
	Type       string `json:"type"`
	Definition string `json:"definition"`
	Regex      string `json:"regex"`
}

type datasource struct {
	UID string `json:"uid"`
}

// ours reports whether a data source is the one that the user picks.
func (d datasource) ours() bool { return d.UID == "${datasource}" }

// labelValues is the query of a variable.
var labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`) //nolint:gochecknoglobals // compiled once

// queryResult is the query of a variable whose values and texts its regular expression takes
// from labels.
var queryResult = regexp.MustCompile(`^query_result\((.*)\)$`) //nolint:gochecknoglobals // compiled once

// takenLabel is a label that such a regular expression takes.
var takenLabel = regexp.MustCompile(`(\w+)="[^"]*\(\?<(?:text|value)>`) //nolint:gochecknoglobals // compiled once

// readDashboard returns the expressions of a dashboard, with all values of the variables.
func readDashboard(name string) ([]question, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("decode %s: %w", name, err)
	}
	c := checker{file: name, known: map[string]string{"__rate_interval": "1m", "__interval": "30s", "__range": "5m"}}
	for _, v := range d.Templating.List {
		c.known[v.Name] = ".*"
	}
	c.head(&d)
	c.panels(d.Panels)
	return c.out, errors.Join(c.faults...)
}

// checker collects the expressions and the faults of a dashboard.
type checker struct {
	file   string
	known  map[string]string // values of the variables
	out    []question
	faults []error
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf(c.file+": "+format, args...))
}

// reference is a variable in an expression.
var reference = regexp.MustCompile(`\$\{?([A-Za-z_]\w*)\}?`) //nolint:gochecknoglobals // compiled once

// expression adds an expression with the values of its variables.
func (c *checker) expression(where, expr, labels string) {
	expr = reference.ReplaceAllStringFunc(expr, func(found string) string {
		value, ok := c.known[strings.Trim(found, "${}")]
		if !ok {
			c.fault("%s: the variable %s is not defined", where, found)
		}
		return value
	})
	if strings.TrimSpace(expr) == "" {
		c.fault("%s: no expression", where)
		return
	}
	c.out = append(c.out, question{where: c.file + ": " + where, expr: expr, labels: labels})
}

// head checks what stands above the panels.
func (c *checker) head(d *dashboard) {
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 36 {
		c.fault("uid, title and a schemaVersion of at least 36 are needed, not %q, %q and %d", d.UID, d.Title, d.SchemaVersion)
	}
	if _, ok := c.known["datasource"]; !ok {
		c.fault("the variable datasource is missing")
	}
	for _, v := range d.Templating.List {
		if v.Type != "query" {
			continue
		}
		if parts := queryResult.FindStringSubmatch(v.Definition); parts != nil {
			labels := takenLabel.FindAllStringSubmatch(v.Regex, -1)
			if len(labels) != 2 {
				c.fault("variable %s: the regular expression takes no value and text from labels: %q", v.Name, v.Regex)
				continue
			}
			before := len(c.out)
			c.expression("variable "+v.Name, parts[1], "")
			for i := before; i < len(c.out); i++ {
				c.out[i].taken = []string{labels[0][1], labels[1][1]}
			}
			continue
		}
		parts := labelValues.FindStringSubmatch(v.Definition)
		if parts == nil {
			c.fault("variable %s: want label_values(SELECTOR, LABEL), not %q", v.Name, v.Definition)
			continue
		}
		c.expression("variable "+v.Name, parts[1], parts[2])
	}
	for _, a := range d.Annotations.List {
		if a.BuiltIn != 0 {
			continue
		}
		if !a.Datasource.ours() {
			c.fault("annotation %s: data source %q", a.Name, a.Datasource.UID)
		}
		c.expression("annotation "+a.Name, a.Expr, "")
	}
}

// kinds are the panels that every Grafana since 9 has.
func kinds() []string {
	return []string{"row", "stat", "table", "timeseries", "heatmap", "bargauge", "gauge", "text", "state-timeline"}
}

// panels checks the panels and adds their expressions.
func (c *checker) panels(panels []panel) {
	const columns = 24
	ids, taken := map[int]bool{}, map[[2]int]string{}
	for i := range panels {
		c.panels(panels[i].Panels)
		p := &panels[i]
		where := fmt.Sprintf("panel %d (%s)", p.ID, p.Title)
		if p.ID == 0 || ids[p.ID] {
			c.fault("%s: the id is 0 or used twice", where)
		}
		ids[p.ID] = true
		if !slices.Contains(kinds(), p.Type) {
			c.fault("%s: type %q, want one of %v", where, p.Type, kinds())
		}
		if p.Grid.X < 0 || p.Grid.W < 1 || p.Grid.H < 1 || p.Grid.X+p.Grid.W > columns {
			c.fault("%s: outside of the grid", where)
		}
		cells := map[[2]int]string{}
		for x := p.Grid.X; x < p.Grid.X+p.Grid.W; x++ {
			for y := p.Grid.Y; y < p.Grid.Y+p.Grid.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					c.fault("%s: overlaps %s", where, other)
					x = columns // once is enough
					break
				}
				cells[[2]int{x, y}] = where
			}
		}
		maps.Copy(taken, cells)
		if p.Type != "row" && p.Type != "text" {
			c.panel(where, p)
		}
	}
}

// panel checks a panel that shows data.
func (c *checker) panel(where string, p *panel) {
	if p.Title == "" || p.Description == "" || p.Field.Defaults.Unit == "" {
		c.fault("%s: title, description and unit are needed", where)
	}
	if !p.Datasource.ours() || len(p.Targets) == 0 {
		c.fault("%s: targets and the data source ${datasource} are needed", where)
	}
	refs := map[string]bool{}
	for _, t := range p.Targets {
		if t.RefID == "" || refs[t.RefID] || !t.Datasource.ours() {
			c.fault("%s: target %q: needs a refId of its own and the data source ${datasource}", where, t.RefID)
		}
		refs[t.RefID] = true
		c.expression(where+" "+t.RefID, t.Expr, "")
	}
}
