package engine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperfd/internal/engine/config"
	"aiperfd/internal/engine/endpoint"
)

// Documents may name what there is a codec for, and nothing else.
func TestEndpointTypes(t *testing.T) {
	var have []config.EndpointType
	for _, k := range endpoint.Kinds() {
		have = append(have, config.EndpointType{Name: k.Name, Aliases: k.Aliases})
	}
	byName := cmpopts.SortSlices(func(a, b config.EndpointType) bool { return a.Name < b.Name })
	if diff := cmp.Diff(have, config.EndpointTypes(), byName, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("types of package config differ from those of package endpoint (-endpoint +config):\n%s", diff)
	}
}
