package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"aiperfd/internal/api/respond"
	"aiperfd/internal/compare"
	"aiperfd/internal/store"
)

// Compare says whether the runs of B are better or worse than those of A. Both are folders of runs,
// or ids of runs in the data directory of a daemon; empty = they are folders. version is that of the program.
func Compare(ctx context.Context, version, dataDir string, q compare.Question) (*compare.Answer, error) {
	names := slices.Concat(q.A, q.B)
	folders, _, err := openRuns(ctx, &ReportOptions{Runs: names, DataDir: dataDir})
	if err != nil {
		return nil, err
	}
	if dataDir == "" {
		if q.A, err = rootsIn(folders, q.A); err != nil {
			return nil, err
		}
		if q.B, err = rootsIn(folders, q.B); err != nil {
			return nil, err
		}
	}
	a, err := newApp(options{store: folders, role: reading, DaemonOptions: DaemonOptions{Log: zerolog.Nop(), Version: version}})
	if err != nil {
		return nil, err
	}
	answer, err := a.server.Answer(ctx, &q)
	if failure, ok := errors.AsType[*respond.Failure](err); ok {
		return nil, &OutcomeError{BadInput, strings.TrimPrefix(failure.Detail, "Bad question: ")}
	}
	return answer, err
}

// rootsIn returns the ids of the runs in folders and below them; the runs of a study are those of
// its folder.
func rootsIn(folders *store.Folders, paths []string) ([]string, error) {
	var out []string
	for _, path := range paths {
		found := false
		for _, id := range folders.Roots() {
			if below(path, folders.Dir(id)) {
				found = true
				if !slices.Contains(out, id) {
					out = append(out, id)
				}
			}
		}
		if !found {
			return nil, &OutcomeError{BadInput, fmt.Sprintf("%s has no run that can be compared with others", path)}
		}
	}
	return out, nil
}
