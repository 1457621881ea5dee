package prom

import (
	"bytes"
	"fmt"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TextFormat is the media type of Prometheus' text format.
const TextFormat = "text/plain; version=0.0.4; charset=utf-8"

// Write writes families, and then an exposition in the text format that has none of
// them, in the format that the Accept header of a scrape prefers: OpenMetrics or
// protobuf, otherwise text, which contains the exposition as it is. It returns the media
// type.
func Write(to *bytes.Buffer, header http.Header, families []*dto.MetricFamily, text []byte) (mediaType string, err error) {
	format := expfmt.NegotiateAccept(header, expfmt.DefaultOpenMetricsAcceptedFormats()...)
	if format.FormatType() == expfmt.TypeTextPlain {
		for _, f := range families {
			if _, err := expfmt.MetricFamilyToText(to, f); err != nil {
				return "", fmt.Errorf("write metric %s: %w", f.GetName(), err)
			}
		}
		to.Write(text)
		return TextFormat, nil
	}
	more, err := parse(text)
	if err != nil {
		return "", err
	}
	encoder := expfmt.NewEncoder(to, format, expfmt.WithCreatedLines())
	for _, f := range append(families, more...) {
		if err := encoder.Encode(f); err != nil {
			return "", fmt.Errorf("write metric %s: %w", f.GetName(), err)
		}
	}
	if c, ok := encoder.(expfmt.Closer); ok {
		err = c.Close()
	}
	return string(format), err
}

// parse returns the families of an exposition in the text format, in its order.
func parse(text []byte) ([]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	byName, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parse metrics: %w", err)
	}
	out := make([]*dto.MetricFamily, 0, len(byName))
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) == 4 && string(fields[1]) == "TYPE" {
			out = append(out, byName[string(fields[2])])
		}
	}
	return out, nil
}
