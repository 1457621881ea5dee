package jinja

import (
	"fmt"
	"reflect"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// budgetName is under which a rendering finds its budget. A template cannot write
// it.
const budgetName = "\x00budget"

// budget is the time and memory that one rendering may still use.
type budget struct {
	made  int // bytes of texts
	steps int
	depth int   // of calls of macros
	spent error // set once the budget is exceeded
}

// Budget is the time and memory that several renderings share. It must not be used
// concurrently.
type Budget struct{ left budget }

// NewBudget returns a budget for texts of so many bytes, and the steps of one
// rendering.
func NewBudget(bytes int) *Budget { return &Budget{budget{made: bytes, steps: maxSteps}} }

// of returns the budget of a rendering.
func of(e *exec.Evaluator) *budget {
	v, _ := e.Environment.Context.Get(budgetName)
	return v.(*budget) //nolint:forcetypeassert // Render has set it
}

// make charges the bytes of a text that is about to be created.
func (b *budget) make(bytes int) error {
	if bytes < 0 || bytes > b.made {
		return b.exceed(fmt.Sprintf("it makes more than %d MiB of text", maxMade>>20))
	}
	b.made -= bytes
	return nil
}

// step charges steps.
func (b *budget) step(n int) error {
	if n < 0 || n > b.steps {
		return b.exceed(fmt.Sprintf("it takes more than %d steps", maxSteps))
	}
	b.steps -= n
	return nil
}

func (b *budget) exceed(why string) error {
	b.spent = fmt.Errorf("%w: %s", ErrBudget, why)
	return b.spent
}

// size returns about how many bytes a value has when it is printed. It takes a step
// for each element and for each KiB of text: that is what looking at it costs.
func (b *budget) size(v *exec.Value) (int, error) {
	if v == nil {
		return 0, nil
	}
	return b.measure(v.Val, 0)
}

func (b *budget) measure(v reflect.Value, depth int) (int, error) {
	if depth > maxDepth {
		return 0, b.exceed(fmt.Sprintf("it nests values more than %d deep", maxDepth))
	}
	for v.IsValid() && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) {
		if v.IsNil() {
			return 4, nil
		}
		if v.CanInterface() {
			switch known := v.Interface().(type) {
			case *exec.Value:
				return b.measure(known.Val, depth+1)
			case *exec.Dict:
				return b.measurePairs(known.Pairs, depth)
			case *exec.Pair:
				return b.measurePairs([]*exec.Pair{known}, depth)
			}
		}
		v = v.Elem()
	}
	const scalar, extra = 24, 4 // bytes of a number; of quotes and commas
	if !v.IsValid() {
		return scalar, nil
	}
	switch v.Kind() {
	case reflect.String:
		return v.Len() + extra, b.step(1 + v.Len()>>10)
	case reflect.Slice, reflect.Array:
		total := extra
		for i := range v.Len() {
			n, err := b.measure(v.Index(i), depth+1)
			if err != nil {
				return 0, err
			}
			total += n + extra
		}
		return total, b.step(1)
	case reflect.Map:
		total := extra
		for m := v.MapRange(); m.Next(); {
			for _, part := range []reflect.Value{m.Key(), m.Value()} {
				n, err := b.measure(part, depth+1)
				if err != nil {
					return 0, err
				}
				total += n + extra
			}
		}
		return total, b.step(1)
	}
	return scalar, b.step(1)
}

func (b *budget) measurePairs(pairs []*exec.Pair, depth int) (int, error) {
	total := 0
	for _, p := range pairs {
		for _, part := range []*exec.Value{p.Key, p.Value} {
			if part == nil {
				continue
			}
			n, err := b.measure(part.Val, depth+1)
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return total, b.step(1)
}

// shallow is the size of a text, or of the list itself.
func shallow(v *exec.Value) int {
	const element = 16 // bytes of an interface
	switch {
	case v == nil || v.IsNil():
		return 0
	case v.IsString():
		return v.Val.Len()
	case v.IsIterable():
		return v.Len() * element
	}
	return 0
}
