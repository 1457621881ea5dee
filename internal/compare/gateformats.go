package compare

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"aiperfd/internal/view"
)

// Headline returns the answer of a gate as one sentence.
func (a *GateAnswer) Headline() string {
	var names []string
	for i := range a.Rules {
		if a.Rules[i].Counts == a.Verdict {
			names = append(names, a.Rules[i].Text)
		}
	}
	list := strings.Join(names, ", ")
	switch a.Verdict {
	case Passes:
		open := 0
		for i := range a.Rules {
			if a.Rules[i].Verdict == Inconclusive {
				open++
			}
		}
		if open > 0 {
			return fmt.Sprintf("The candidate passes; %d of %s not decided and counted as passed",
				open, view.Plural(len(a.Rules), "rule"))
		}
		return fmt.Sprintf("The candidate passes: %s kept", view.Plural(len(a.Rules), "rule"))
	case Fails:
		return "The candidate fails: " + list
	case Invalid:
		return "No answer: the load generator distorted a number that is needed: " + list
	case NotComparable:
		return "Not comparable: the baseline and the candidate put different loads on their servers"
	case Inconclusive:
	}
	return "Not decided: " + list
}

// Text returns the answer for a terminal with that many columns; 0 = as wide as needed.
func (a *GateAnswer) Text(width int) string { return a.card().text(width) }

// Markdown returns the answer for a comment on a pull request.
func (a *GateAnswer) Markdown() string { return a.card().markdown() }

func (a *GateAnswer) card() card { return card{a.Headline(), a.table(), a.notes()} }

// table returns the rules as a table.
func (a *GateAnswer) table() view.Table {
	t := view.Table{Columns: []view.Column{
		{Title: "RULE"}, {Title: "BASELINE", Weight: 2, Number: true}, {Title: "CANDIDATE", Number: true},
		{Title: "UNIT", Weight: 3}, {Title: "CHANGE", Number: true}, {Title: "INTERVAL", Weight: 1},
		{Title: "RUNS", Weight: 4, Number: true}, {Title: "VERDICT"},
	}}
	for i := range a.Rules {
		r := &a.Rules[i]
		change, interval, look := view.Absent, view.Absent, view.Absent
		if r.Estimate != nil {
			look = strconv.Itoa(r.Look)
		}
		if r.Estimate != nil && r.Relative {
			change = r.number(r.Estimate)
		}
		if r.Low != nil && r.High != nil {
			interval = r.number(r.Low) + " to " + r.number(r.High)
		}
		verdict := string(r.Verdict)
		if r.Counts != r.Verdict {
			verdict += " (" + string(r.Counts) + ")"
		}
		t.Rows = append(t.Rows, []string{
			r.Text, view.FigureOr(r.Reference, view.Absent), view.FigureOr(r.Candidate, view.Absent), r.Unit,
			change, interval, look, verdict,
		})
	}
	return t
}

// number formats an estimate of a rule: a value, or a change with its sign and unit.
func (r *RuleAnswer) number(v *float64) string {
	if !r.Relative {
		return view.Figure(*v)
	}
	return (&MetricAnswer{Points: r.Points}).signed(v)
}

// notes returns what a reader should know beside the table.
func (a *GateAnswer) notes() []string {
	var out []string
	if a.Baseline != nil {
		name := "Baseline: "
		if a.Baseline.Name != "" {
			name += fmt.Sprintf("%s@%d, ", a.Baseline.Name, a.Baseline.Revision)
		}
		out = append(out, name+view.Plural(len(a.Baseline.Runs), "run"))
	}
	for i := range a.Load {
		out = append(out, "Differs: "+describeDifference(&a.Load[i]))
	}
	for i := range a.Rules {
		if r := &a.Rules[i]; r.Reason != "" {
			out = append(out, r.Sentence())
		}
	}
	for i := range a.Subject {
		out = append(out, "Compared: "+describeDifference(&a.Subject[i]))
	}
	for _, d := range a.Doubts {
		out = append(out, "Doubt: "+d.Message)
	}
	if a.Stop.Text != "" {
		out = append(out, "Stopped: "+a.Stop.Text)
	}
	if a.Decide.Needs != "" {
		out = append(out, "What would decide it: "+a.Decide.Needs)
	}
	return out
}

// GateJSON is the name of the file with the answer for programs.
const GateJSON = "gate.json"

// Files returns the answer in its other forms, by the names of their files.
func (a *GateAnswer) Files() (map[string][]byte, error) {
	junit, err := a.JUnit()
	if err != nil {
		return nil, err
	}
	return map[string][]byte{"gate.md": []byte(a.Markdown()), "gate.junit.xml": junit}, nil
}

// inWords returns the answer as sentences, the main one first.
func (a *GateAnswer) inWords() []string {
	out := []string{a.Headline()}
	for i := range a.Rules {
		out = append(out, a.Rules[i].Sentence())
	}
	return asSentences(out)
}

// Sentence returns a rule with its estimate, interval and limit, and why it is open.
func (r *RuleAnswer) Sentence() string {
	text := r.Text + ": "
	switch {
	case r.Estimate == nil:
	case r.Relative:
		text += fmt.Sprintf("changed by %s (interval %s to %s), ", r.number(r.Estimate), r.number(r.Low), r.number(r.High))
	default:
		text += fmt.Sprintf("%s %s (interval %s to %s), ", r.number(r.Estimate), r.Unit, r.number(r.Low), r.number(r.High))
	}
	text += string(r.Verdict)
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	return text
}

// The elements of a JUnit report (the schema of Jenkins, junit-10.xsd).
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string       `xml:"name,attr"`
		Class   string       `xml:"classname,attr"`
		Skipped *junitResult `xml:"skipped"`
		Error   *junitResult `xml:"error"`
		Failure *junitResult `xml:"failure"`
	}
	junitResult struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// JUnit returns the answer as a JUnit report: a test case for each rule. A rule that failed, or counts as
// failed, has a failure, one whose numbers are not valid an error, and another that is not decided is skipped.
func (a *GateAnswer) JUnit() ([]byte, error) {
	suite := junitSuite{Name: "aiperfd gate", Tests: len(a.Rules)}
	for i := range a.Rules {
		r := &a.Rules[i]
		c := junitCase{Name: r.Text, Class: "aiperfd.gate"}
		result := &junitResult{Message: r.Sentence(), Type: string(r.Verdict)}
		switch {
		case a.Verdict == NotComparable:
			result.Message, result.Type = a.Headline(), string(a.Verdict)
			c.Error = result
			suite.Errors++
		case r.Counts == Fails:
			c.Failure = result
			suite.Failures++
		case r.Verdict == Invalid:
			c.Error = result
			suite.Errors++
		case r.Verdict == Inconclusive:
			result.Type = ""
			c.Skipped = result
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
	}
	text, err := xml.MarshalIndent(junitSuites{Name: "aiperfd", Suites: []junitSuite{suite}}, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

// Annotations returns the answer as commands to a runner of GitHub Actions, which shows them beside the change.
func (a *GateAnswer) Annotations() string {
	var b strings.Builder
	escape := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace
	write := func(level, text string) {
		fmt.Fprintf(&b, "::%s title=aiperfd gate::%s\n", level, escape(text))
	}
	if a.Verdict == NotComparable {
		write("error", a.Headline())
		return b.String()
	}
	for i := range a.Rules {
		level := "notice"
		switch r := &a.Rules[i]; {
		case r.Counts == Fails, r.Verdict == Invalid:
			level = "error"
		case r.Verdict == Inconclusive:
			level = "warning"
		}
		write(level, a.Rules[i].Sentence())
	}
	return b.String()
}
