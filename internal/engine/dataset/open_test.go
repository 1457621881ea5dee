package dataset

import (
	"context"
	"fmt"

	"aiperfd/internal/engine/dataset/source"
)

// Open opens a dataset of the named kind.
func Open(ctx context.Context, kind string, o Options) (source.Source, error) {
	for _, k := range Kinds() {
		if k.Name == kind {
			return k.Open(ctx, o)
		}
	}
	return nil, fmt.Errorf("unknown dataset kind %q", kind)
}
