package plan

import (
	"math/rand/v2"

	"aiperfd/internal/engine/config"
)

// Models chooses the model of a session.
type Models struct {
	Names    []string
	strategy string    // round_robin, random or weighted
	sums     []float64 // weighted: cumulated weights
}

func newModels(m config.Models) Models {
	out := Models{strategy: m.Strategy}
	sum := 0.0
	for _, item := range m.Items {
		out.Names = append(out.Names, item.Name)
		if item.Weight != nil {
			sum += *item.Weight
		}
		out.sums = append(out.sums, sum)
	}
	return out
}

// Pick returns the model of session n. It draws from r only if the strategy is random.
func (m *Models) Pick(n int64, r *rand.Rand) string {
	switch {
	case len(m.Names) == 1:
		return m.Names[0]
	case m.strategy == "random":
		return m.Names[r.IntN(len(m.Names))]
	case m.strategy == "weighted":
		x := r.Float64() * m.sums[len(m.sums)-1]
		for i, sum := range m.sums {
			if x < sum {
				return m.Names[i]
			}
		}
	}
	return m.Names[int(n%int64(len(m.Names)))]
}
