package engine

import (
	"crypto/rand"
	"encoding/binary"
	mathrand "math/rand/v2"

	"aiperfd/internal/engine/config"
)

// models chooses the model of a session.
type models struct {
	names    []string
	strategy string    // round_robin, random or weighted
	sums     []float64 // weighted: cumulated weights
}

func newModels(m config.Models) models {
	out := models{strategy: m.Strategy}
	sum := 0.0
	for _, item := range m.Items {
		out.names = append(out.names, item.Name)
		if item.Weight != nil {
			sum += *item.Weight
		}
		out.sums = append(out.sums, sum)
	}
	return out
}

// pick returns the model of session n; r is drawn from only where the strategy
// is random.
func (m *models) pick(n int64, r *mathrand.Rand) string {
	switch {
	case len(m.names) == 1:
		return m.names[0]
	case m.strategy == "random":
		return m.names[r.IntN(len(m.names))]
	case m.strategy == "weighted":
		x := r.Float64() * m.sums[len(m.sums)-1]
		for i, sum := range m.sums {
			if x < sum {
				return m.names[i]
			}
		}
	}
	return m.names[int(n%int64(len(m.names)))]
}

// randomBits returns 64 bits of the system's randomness.
func randomBits() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see crypto/rand
	return binary.LittleEndian.Uint64(b[:])
}
