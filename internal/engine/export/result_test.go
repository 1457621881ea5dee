package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperfd/internal/engine/metric"
	"aiperfd/internal/engine/metric/catalogue"
	"aiperfd/internal/engine/sketch"
	"aiperfd/internal/engine/telemetry/diagnose"
)

// fill gives every field below v a value that is not zero. Pointers, lists and maps get
// one element; a structure of depth levels ends types that contain themselves.
func fill(t *testing.T, v reflect.Value, depth int) {
	t.Helper()
	if depth == 0 {
		return
	}
	depth--
	switch at := v.Addr().Interface().(type) {
	case *time.Time:
		*at = time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)
		return
	case *any:
		*at = json.RawMessage(`{"a":1}`)
		return
	case *metric.Result:
		def, _ := catalogue.Lookup("request_latency")
		*at = metric.Result{Def: def, Count: 2, RelError: 0.001, Bin: time.Second, Confidence: &metric.Confidence{Effective: 2}}
		at.Set(metric.Avg, 1.25)
		at.Set(metric.P99, 2.5)
		return
	case *sketch.Sketch:
		at.Add(1.5)
		return
	case **struct{}, **diagnose.Pages:
		return // always null, and not in the file
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				t.Fatalf("%v has the field %s, which cannot be in a file", v.Type(), v.Type().Field(i).Name)
			}
			fill(t, v.Field(i), depth)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), depth)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), depth)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key, depth)
		fill(t, value, depth)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Array:
		for i := range v.Len() {
			fill(t, v.Index(i), depth)
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(0.25)
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8:
		if v.CanInt() {
			v.SetInt(3)
		} else {
			v.SetUint(3)
		}
	default:
		t.Fatalf("nothing to fill %v with", v.Type())
	}
}

// TestEveryField: a report survives the file, whatever fields it gets.
func TestEveryField(t *testing.T) {
	var r Report
	fill(t, reflect.ValueOf(&r).Elem(), 12)
	var file bytes.Buffer
	if err := writeResult(&file, &r); err != nil {
		t.Fatal(err)
	}
	got, err := ReadResult(&file)
	if err != nil {
		t.Fatal(err)
	}
	same := cmp.Options{
		cmp.Comparer(func(a, b metric.Result) bool { return fmt.Sprintf("%+v", text(t, a)) == fmt.Sprintf("%+v", text(t, b)) }),
		cmp.Comparer(func(a, b *sketch.Sketch) bool { return text(t, a) == text(t, b) }),
		cmp.Transformer("json", func(raw json.RawMessage) string { return strings.Join(strings.Fields(string(raw)), "") }),
	}
	if diff := cmp.Diff(&r, got, same); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	for _, name := range names(t, &r) {
		if name != strings.ToLower(name) {
			t.Errorf("the member %q has capitals: its field has no tag", name)
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// names returns the names of all members of the file of a report.
func names(t *testing.T, r *Report) []string {
	t.Helper()
	var file bytes.Buffer
	if err := writeResult(&file, r); err != nil {
		t.Fatal(err)
	}
	var all []string
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, member := range v {
				all = append(all, name)
				walk(member)
			}
		case []any:
			for _, item := range v {
				walk(item)
			}
		}
	}
	var v any
	if err := json.Unmarshal(file.Bytes(), &v); err != nil {
		t.Fatal(err)
	}
	walk(v)
	return all
}

func TestReadProblems(t *testing.T) {
	for file, want := range map[string]string{
		``:                       "unexpected end",
		`{"schema":"aiperfd/2"}`: `schema is "aiperfd/2", not "aiperfd/1"`,
		`{"schema":"aiperfd/1","phases":[{"stats":{"name":"../up"}}]}`:         `the phase "../up" cannot name a folder`,
		`{"schema":"aiperfd/1","layout":{"csv_precision":99}}`:                 "csv_precision is not from 0 to 12",
		`{"schema":"aiperfd/1","metrics":{"a":{"tag":"b","stats":{}}}}`:        "metric a has the tag b",
		`{"schema":"aiperfd/1","metrics":[]}`:                                  "metrics are not an object",
		`{"schema":"aiperfd/1","phases":[{"stats":{"arrivals":{"used":""}}}]}`: "used",
	} {
		if _, err := ReadResult(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
}

// FuzzRead: no file makes the writers of reports fail in a way of ours.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"schema":"aiperfd/1","metrics":{"request_latency":{"tag":"request_latency","stats":{"avg":1,"p99":"inf"}}},"phases":[{"stats":{"name":"a"}},{"stats":{"name":"b"}}]}`))
	f.Add([]byte(`{"schema":"aiperfd/1","input_config":{},"client":{"verdict":"ok","certificate":{}},"stream":{},"saturation":{},"errors":[{}],"notes":[{}],"slos":{"a":1}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := ReadResult(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, format := range Formats() {
			if format.Made == nil || format.Made(r) {
				_ = format.Write(&bytes.Buffer{}, r) // may refuse the configuration
			}
		}
		var again bytes.Buffer
		if err := writeResult(&again, r); err != nil {
			return
		}
		if _, err := ReadResult(&again); err != nil {
			t.Fatalf("%s: cannot be read again: %v", data, err)
		}
	})
}
