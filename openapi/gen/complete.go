package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"aiperfd/internal/api"
	"aiperfd/internal/api/baselines"
	apiresults "aiperfd/internal/api/results"
	"aiperfd/internal/api/runs"
	"aiperfd/internal/api/wire"
	"aiperfd/internal/compare"
	"aiperfd/internal/engine/config/schema"
	"aiperfd/internal/engine/metric"
	"aiperfd/internal/results"
	runstate "aiperfd/internal/run"
)

// bodies are the types of all answers; the types inside them are found from
// here.
func bodies() []any {
	return []any{
		wire.RunInfo{}, wire.Metrics{}, wire.Progress{}, wire.Workers{}, wire.Results{}, wire.ResultFiles{},
		wire.ServerMetrics{}, wire.Run{}, wire.RunList{}, wire.Queue{}, wire.Cluster{}, runstate.Worker{},
		wire.Session{}, wire.Validation{}, wire.Version{},
		wire.ShuttingDown{}, wire.Simulator{}, wire.Problem{}, wire.Health{}, wire.Timeseries{}, wire.Distributions{}, wire.Samples{}, wire.Telemetry{},
		compare.Comparison{}, compare.Answer{}, compare.Question{}, apiresults.RecordBody{}, wire.Errors{}, results.LogLine{}, results.Sweep{}, results.Agents{},
		results.Answer{}, wire.Baselines{}, wire.BaselineRuns{}, wire.Candidate{}, baselines.Promotion{}, wire.SpansTaken{},
		compare.Comparison{}, compare.Answer{}, compare.Question{}, wire.ProbeRequest{}, wire.ProbeAnswer{}, apiresults.RecordBody{}, wire.Errors{}, results.LogLine{}, results.Sweep{}, results.Agents{},
		results.Answer{}, wire.Baselines{}, wire.BaselineRuns{},
	}
}

// complete adds what swag cannot know.
func complete(doc *openapi3.T, examples string) error {
	doc.Servers = openapi3.Servers{{URL: "/", Description: "This server"}}
	seen := map[reflect.Type]bool{}
	for _, body := range bodies() {
		if err := refine(doc, reflect.TypeOf(body), seen); err != nil {
			return err
		}
	}
	documentBodies(doc)
	patchBody(doc.Components.Schemas["wire.Patch"].Value)
	doc.Components.SecuritySchemes = securitySchemes()
	scopes := api.Scopes()
	cancel := doc.Components.Schemas["wire.Cancel"].Value
	cancel.AdditionalProperties = openapi3.AdditionalProperties{Has: new(false)}
	cancel.Properties["grace_period_sec"].Value.Nullable = true
	column := doc.Components.Schemas["wire.Series"].Value.Properties["values"].Value.AdditionalProperties.Schema
	column.Value.Items.Value.Nullable = true
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			op.OperationID = operationID(method, path)
			ofRun(doc, method, path, op)
			if err := refined(op, seen); err != nil {
				return err
			}
			if err := protect(op, scopes[strings.ToUpper(method)+" "+strings.Replace(path, "{path}", "*", 1)]); err != nil {
				return err
			}
			problems(op)
			plainTexts(op)
			nonEmpty(op)
			if err := addExample(op, examples); err != nil {
				return err
			}
		}
	}
	return nil
}

// nonEmpty describes what parameters have in common: none is empty but the one that the
// probes take without a value, and some have patterns.
func nonEmpty(op *openapi3.Operation) {
	patterns := map[string]string{
		"If-Match":        `^\s*(\*|(W/)?"[\x21\x23-\x7e]*"(\s*,\s*(W/)?"[\x21\x23-\x7e]*")*)\s*$`,
		"Idempotency-Key": `^[\x21-\x7e]{1,255}$`,
		"ids":             `^[^,]+(,[^,]+){1,9}$`,
		"step":            `^([1-9][0-9]{0,3}s|[1-9][0-9]{0,2}m|([1-9]|1[0-9]|2[0-4])h)$`,
	}
	for _, p := range op.Parameters {
		schema := p.Value.Schema.Value
		if schema.Type.Is("array") {
			schema = schema.Items.Value
		}
		if p.Value.Name == "verbose" {
			p.Value.AllowEmptyValue = true
			continue
		}
		if p.Value.In != "path" && schema.Type.Is("string") && schema.Enum == nil && schema.Format == "" {
			schema.MinLength, schema.Pattern = max(schema.MinLength, 1), patterns[p.Value.Name]
		}
	}
}

// patchBody describes a merge patch: null removes each member, and lengths of time are
// written as in a document.
func patchBody(s *openapi3.Schema) {
	s.AdditionalProperties = openapi3.AdditionalProperties{Has: new(false)}
	for _, member := range s.Properties {
		member.Value.Nullable = true
	}
	labels := s.Properties["labels"].Value
	labels.AdditionalProperties = openapi3.AdditionalProperties{
		Schema: inline(&openapi3.Schema{Type: types("string"), Nullable: true, MaxLength: new(uint64(schema.MaxLabelValue))}),
	}
	ttl := s.Properties["ttl"].Value
	number := &openapi3.Schema{Type: types("number"), Min: new(0.0), Max: ttl.Max, Nullable: true, ExclusiveMin: openapi3.ExclusiveBound{Bool: new(true)}}
	s.Properties["ttl"] = inline(&openapi3.Schema{Description: ttl.Description, AnyOf: openapi3.SchemaRefs{inline(number), ref(durationSchema)}})
}

// schemaName is the name of the schema of a Go type. A type that has moved keeps the name that
// clients know, which its annotation @name says, too.
func schemaName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[metric.SLOResult]():
		return "slo.Result"
	case reflect.TypeFor[results.LogLine]():
		return "runlog.Line"
	case reflect.TypeFor[wire.Fault]():
		return "problem.Problem"
	case reflect.TypeFor[wire.Default]():
		return "config.Default"
	case reflect.TypeFor[apiresults.RecordBody]():
		return "records.Body"
	}
	return t.String()
}

// refine tells a schema which members of its Go type can be null, and which are
// always there. It goes on with the types of the members.
func refine(doc *openapi3.T, t reflect.Type, seen map[reflect.Type]bool) error {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array}, t.Kind()) {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.NumField() == 0 || t.PkgPath() == "time" || seen[t] {
		return nil
	}
	seen[t] = true
	ref := doc.Components.Schemas[schemaName(t)]
	if ref == nil {
		return fmt.Errorf("type %s has no schema", t)
	}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || f.Anonymous || !f.IsExported() { // the members of an embedded struct are members of t
			continue
		}
		member := ref.Value.Properties[name]
		if member == nil {
			return fmt.Errorf("member %s of %s has no schema", name, t)
		}
		optional := strings.Contains(options, "omit")
		if !optional {
			ref.Value.Required = append(ref.Value.Required, name)
		}
		ref.Value.Properties[name] = refineMember(member, f, optional)
		if err := refine(doc, f.Type, seen); err != nil {
			return err
		}
	}
	return nil
}

// refined checks that the schemas of the answers of an operation have been refined. One
// that is not in [bodies] would have no required members.
func refined(op *openapi3.Operation, seen map[reflect.Type]bool) error {
	for _, response := range op.Responses.Map() {
		for _, media := range response.Value.Content {
			name, isRef := "", media.Schema != nil
			if isRef {
				name, isRef = strings.CutPrefix(media.Schema.Ref, "#/components/schemas/")
			}
			known := slices.ContainsFunc(slices.Collect(maps.Keys(seen)), func(t reflect.Type) bool { return schemaName(t) == name })
			if isRef && !known {
				return fmt.Errorf("%s answers with %s, which is not in the list of bodies", op.OperationID, name)
			}
		}
	}
	return nil
}

// refineMember describes one member by its Go type.
func refineMember(member *openapi3.SchemaRef, f reflect.StructField, optional bool) *openapi3.SchemaRef {
	nullable := !optional && (f.Type.Kind() == reflect.Pointer || f.Type == reflect.TypeFor[wire.Number]() || f.Name == "WarmupRecords" || f.Name == "Timeslices" || f.Name == "AcceptanceHist")
	if member.Ref != "" {
		if !nullable {
			return member
		}
		return openapi3.NewSchemaRef("", &openapi3.Schema{AllOf: openapi3.SchemaRefs{member}, Nullable: true})
	}
	member.Value.Nullable = member.Value.Nullable || nullable
	if f.Type.Kind() == reflect.Interface { // any JSON value
		member.Value.Type = nil
		member.Value.Nullable = true
	}
	if f.Type == reflect.TypeFor[*int64]() || f.Type.Kind() == reflect.Int64 {
		member.Value.Format = "int64"
	}
	if f.Type == reflect.TypeFor[wire.Column]() {
		member.Value.Items.Value.Nullable = true
	}
	if f.Type == reflect.TypeFor[map[string][]*float64]() {
		member.Value.AdditionalProperties.Schema.Value.Items.Value.Nullable = true
	}
	if size := arrayOf(f.Type); size > 0 {
		member.Value.MinItems, member.Value.MaxItems = uint64(size), new(uint64(size))
	}
	return member
}

// arrayOf is the length of an array type or a pointer to one, else 0.
func arrayOf(t reflect.Type) int {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Array {
		return t.Len()
	}
	return 0
}

// ofRun adds what the routes of a run have in common: the run is that of the path or, for
// AIPerf's routes that have a twin for any run, that of the parameter run, and may be missing.
func ofRun(doc *openapi3.T, method, path string, op *openapi3.Operation) {
	p := openapi3.NewPathParameter("id")
	if !strings.HasPrefix(path, "/api/runs/{id}") {
		twin := doc.Paths.Value("/api/runs/{id}" + strings.TrimPrefix(path, "/api"))
		if twin == nil || method != http.MethodGet || !slices.Contains(op.Tags, "aiperf") {
			return
		}
		p = openapi3.NewQueryParameter("run")
	}
	if op.Parameters.GetByInAndName(p.In, p.Name) == nil {
		p = p.WithDescription("Run id, current or latest").WithSchema(openapi3.NewStringSchema())
		op.Parameters = slices.Insert(op.Parameters, 0, &openapi3.ParameterRef{Value: p})
	}
	op.Responses.Set("404", problemResponse("Not Found"))
}

// problems gives the answers that are problems their media type.
func problems(op *openapi3.Operation) {
	for _, response := range op.Responses.Map() {
		for _, media := range response.Value.Content {
			if media.Schema != nil && strings.HasSuffix(media.Schema.Ref, "/wire.Problem") {
				response.Value.Content = openapi3.Content{"application/problem+json": media}
				break
			}
		}
	}
}

// plainTexts makes the answers that are plain text strings, and those in protobuf
// binary ones. A probe answers with a text, or with JSON if that is asked for.
func plainTexts(op *openapi3.Operation) {
	for _, response := range op.Responses.Map() {
		for _, name := range []string{"text/plain", "application/openmetrics-text", "application/x-ndjson"} {
			if media := response.Value.Content[name]; media != nil {
				media.Schema = openapi3.NewSchemaRef("", openapi3.NewStringSchema())
			}
		}
		if media := response.Value.Content["application/vnd.google.protobuf"]; media != nil {
			media.Schema = openapi3.NewSchemaRef("", openapi3.NewStringSchema().WithFormat("binary"))
		}
	}
}

// operationID makes an id such as getApiRunsIdConfig.
func operationID(method, path string) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(method))
	for _, word := range strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/{}-._", r) }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}

// addExample attaches examples/<operation id>.json to the first good answer
// that has JSON, and examples/<operation id>.request.json to the request.
func addExample(op *openapi3.Operation, folder string) error {
	if example, err := readExample(filepath.Join(folder, op.OperationID+".json")); err != nil {
		return err
	} else if example != nil {
		for _, status := range []string{"200", "201"} {
			if r := op.Responses.Value(status); r != nil && r.Value.Content["application/json"] != nil {
				r.Value.Content["application/json"].Example = example
				break
			}
		}
	}
	if op.RequestBody == nil {
		return nil
	}
	example, err := readExample(filepath.Join(folder, op.OperationID+".request.json"))
	for _, name := range []string{"application/json", runs.PatchType} {
		if media := op.RequestBody.Value.Content[name]; err == nil && example != nil && media != nil {
			media.Example = example
		}
	}
	return err
}

func readExample(path string) (any, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("decode example %s: %w", path, err)
	}
	return v, nil
}
