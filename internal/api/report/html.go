package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"time"

	"aiperfd/web"
)

// page is the HTML of a report. The script and the style sheet are those of web/src/report.tsx.
// The data is not executed, and the characters that could end its element are escaped.
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{.Policy}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="aiperfd {{.Version}}">
<title>{{.Text.Title}}</title>
<link rel="icon" href="data:,">
<style>{{.Style}}</style>
</head>
<body class="report">
<div id="app"></div>
<noscript>
<main>
<h1>{{.Text.Title}}</h1>
{{range .Text.Answer}}<p><strong>{{.}}</strong></p>
{{end}}{{range .Text.Alerts}}<p class="alert"><strong>{{.Title}}</strong>{{range .Lines}}<br>{{.}}{{end}}</p>
{{end}}{{range .Text.Facts}}<p>{{.}}</p>
{{end}}{{range .Text.Tables}}<h2>{{.Title}}</h2>
<div class="scroll"><table>
<thead><tr>{{range .Columns}}<th{{if not .Number}} class="text"{{end}}>{{.Title}}</th>{{end}}</tr></thead>
<tbody>{{$columns := .Columns}}{{range .Rows}}<tr>{{range $i, $_ := .}}<td{{if not (index $columns $i).Number}} class="text wrap"{{end}}>{{.}}</td>{{end}}</tr>
{{end}}</tbody></table></div>
{{if .More}}<p>{{.More}}</p>
{{end}}{{end}}{{range .Text.Lists}}<h2>{{.Title}}</h2>
<ul>{{range .Items}}<li>{{.}}</li>{{end}}</ul>
{{end}}<p class="muted">{{.Text.Origin}}. The charts need JavaScript.</p>
</main>
</noscript>
<script type="application/json" id="report-data">{{.Data}}</script>
<script>{{.Script}}</script>
</body>
</html>
`

// embedded is the data of a report; see web/src/api/embedded.ts.
type embedded struct {
	Version string                     `json:"version"`
	IDs     []string                   `json:"ids"`
	AsOf    *time.Time                 `json:"as_of,omitempty"`
	Answers map[string]json.RawMessage `json:"answers"`
}

// html returns the report as a page.
func (c *content) html() ([]byte, error) {
	tmpl, err := template.New("report").Parse(page)
	if err != nil {
		return nil, fmt.Errorf("make report: %w", err)
	}
	script, style, err := assets()
	if err != nil {
		return nil, err
	}
	data := embedded{Version: c.version, Answers: c.answers}
	for i := range c.runs {
		data.IDs = append(data.IDs, c.runs[i].ID)
	}
	if !c.asOf.IsZero() {
		data.AsOf = &c.asOf
	}
	encoded, err := json.Marshal(data) // <, >, & and the line separators are escaped
	if err != nil {
		return nil, fmt.Errorf("encode report: %w", err)
	}
	var out bytes.Buffer
	err = tmpl.Execute(&out, map[string]any{
		"Policy": policy(script, style), "Version": c.version, "Text": c.text(),
		// The three are not of foreign origin, or are escaped as above.
		"Style": template.CSS(style), "Script": template.JS(script), "Data": template.JS(encoded), //nolint:gosec
	})
	if err != nil {
		return nil, fmt.Errorf("make report: %w", err)
	}
	return out.Bytes(), nil
}

// assets returns the script and the style sheet of reports.
func assets() (script, style []byte, err error) {
	script, hasScript := web.File("report/report.js")
	style, hasStyle := web.File("report/report.css")
	if !hasScript || !hasStyle {
		return nil, nil, errors.New("make report: the script or the style sheet is not built; run make web")
	}
	return bytes.TrimSpace(script), bytes.TrimSpace(style), nil
}

// policy is the Content-Security-Policy of a report: only its own script and style sheet,
// and no request.
func policy(script, style []byte) string {
	hash := func(data []byte) string {
		sum := sha256.Sum256(data)
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) + "; img-src data:; base-uri 'none'; form-action 'none'"
}

// Policy returns the Content-Security-Policy with which a server sends a report: in
// addition to that of the page, the report is no part of the site of the server, and has
// neither its cookies nor its storage.
func Policy() (string, error) {
	script, style, err := assets()
	if err != nil {
		return "", err
	}
	return policy(script, style) + "; frame-ancestors 'none'; sandbox allow-scripts allow-modals", nil
}
