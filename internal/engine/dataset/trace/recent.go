package trace

// manyRecent is how many keys a [recent] remembers at least.
const manyRecent = 1 << 15

// recent is a map that remembers the last keys that were set: at least [manyRecent], at
// most twice as many.
type recent[K comparable, V any] struct{ new, old map[K]V }

func newRecent[K comparable, V any]() recent[K, V] {
	return recent[K, V]{new: map[K]V{}}
}

func (r *recent[K, V]) get(key K) (V, bool) {
	v, ok := r.new[key]
	if !ok {
		v, ok = r.old[key]
	}
	return v, ok
}

func (r *recent[K, V]) set(key K, v V) {
	if len(r.new) == manyRecent {
		if _, ok := r.new[key]; !ok {
			r.new, r.old = make(map[K]V, manyRecent/8), r.new
		}
	}
	r.new[key] = v
}
