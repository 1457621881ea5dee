package jinja

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"unsafe"

	controlStructures "github.com/nikolalohinski/gonja/v2/builtins/control_structures"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"
)

// bind puts the charges of the budget into a parsed template: filters of this package
// around every part whose cost depends on data.
func bind(root *nodes.Template) error {
	w := &binder{done: map[any]nodes.Expression{}, chains: map[nodes.Node]int{}, call: number(0)}
	if err := w.fields(reflect.ValueOf(root).Elem()); err != nil {
		return err
	}
	w.call.Val = 1 + w.largest
	return nil
}

// binder walks the tree of a template. The library keeps some expressions of
// blocks in unexported fields, so that it goes over all fields by reflection.
type binder struct {
	done    map[any]nodes.Expression // what stands in the place of a node that was seen
	chains  map[nodes.Node]int       // calls of methods, one on the result of the other
	weight  int                      // of the nodes seen so far: what performing each once costs
	largest int                      // weight of the largest macro
	call    *nodes.Integer           // steps of one call
}

// charge returns an expression within a filter of this package.
func charge(name string, expr nodes.Expression, args ...nodes.Expression) nodes.Expression {
	return &nodes.FilteredExpression{Expression: expr, Filters: []*nodes.FilterCall{{Name: name, Args: args}}}
}

// number is a number in a template; the library prints it in errors.
func number(n int) *nodes.Integer {
	return &nodes.Integer{Val: n, Location: &tokens.Token{Type: tokens.Integer, Val: strconv.Itoa(n)}}
}

// fields walks the fields of a struct.
func (w *binder) fields(v reflect.Value) error {
	for _, f := range v.Fields() {
		if !f.CanSet() {
			f = reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
		}
		if err := w.value(f); err != nil {
			return err
		}
	}
	return nil
}

// value walks one value, and replaces an expression that has a charge.
func (w *binder) value(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		bound, err := w.node(v.Interface())
		if err != nil || bound == nil {
			return err
		}
		v.Set(reflect.ValueOf(bound))
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		_, err := w.node(v.Interface())
		return err
	case reflect.Slice:
		for i := range v.Len() {
			if err := w.value(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			slot := reflect.New(v.Type().Elem()).Elem()
			slot.Set(v.MapIndex(key))
			if err := w.value(slot); err != nil {
				return err
			}
			v.SetMapIndex(key, slot)
		}
	case reflect.Struct:
		return w.fields(v)
	}
	return nil
}

// node walks a node. It returns the replacement of the node; nil = none.
func (w *binder) node(n any) (nodes.Expression, error) {
	v := reflect.ValueOf(n)
	if _, ok := n.(*tokens.Token); ok || v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return nil, nil
	}
	if bound, seen := w.done[n]; seen {
		return bound, nil
	}
	w.done[n] = nil
	before := w.weight
	w.weight++
	if d, ok := n.(*nodes.Data); ok {
		w.weight += len(d.Data.Val) / 16
		return nil, nil
	}
	if err := w.fields(v.Elem()); err != nil {
		return nil, err
	}
	bound, err := w.bound(n, w.weight-before)
	w.done[n] = bound
	return bound, err
}

// bound returns a node with its charges; nil = it has none of its own, or they
// are inside. weight is that of the node with all in it.
func (w *binder) bound(n any, weight int) (nodes.Expression, error) {
	switch n := n.(type) {
	case *nodes.Output:
		n.Expression = charge(chargePrint, n.Expression)
		if n.Alternative != nil {
			n.Alternative = charge(chargePrint, n.Alternative)
		}
	case *nodes.BinaryExpression:
		return operator(n), nil
	case *nodes.TestExpression:
		if !cheapTest(n.Test.Name) {
			n.Expression = charge(chargeRead, n.Expression)
			for i := range n.Test.Args {
				n.Test.Args[i] = charge(chargeRead, n.Test.Args[i])
			}
		}
	case *nodes.GetItem:
		n.Node = charge(chargeItem, n.Node)
	case *nodes.GetSlice:
		n.Node = charge(chargePart, n.Node)
		for _, bound := range []*nodes.Node{&n.Start, &n.End, &n.Step} {
			if *bound != nil {
				*bound = charge(chargeRead, *bound) // the error quotes an argument that is not a number
			}
		}
	case *nodes.Call:
		return w.called(n)
	case *controlStructures.ForControlStructure:
		if n.Recursive {
			return nil, errors.New("recursive loops are not supported")
		}
		n.ObjectEvaluator = charge(chargeLoop, n.ObjectEvaluator, number(weight))
	case *controlStructures.MacroControlStructure:
		return &macro{n}, nil
	case *nodes.Macro:
		w.largest = max(w.largest, weight)
	}
	return nil, nil
}

// operator returns an operation that pays for its operands first.
func operator(n *nodes.BinaryExpression) nodes.Expression {
	switch n.Operator.Token.Type {
	case tokens.And, tokens.Or:
		return nil
	case tokens.Multiply:
		return charge(chargeTimes, n.Left, n.Right)
	case tokens.Addition, tokens.Tilde:
		n.Left, n.Right = charge(chargePrint, n.Left), charge(chargePrint, n.Right)
	default:
		n.Left, n.Right = charge(chargeRead, n.Left), charge(chargeRead, n.Right)
	}
	return nil
}

// called returns a call that pays before (for its steps and for what a method
// reads) and after (for what it has made).
func (w *binder) called(n *nodes.Call) (nodes.Expression, error) {
	const longest = 8 // the library evaluates the receiver of a method anew each time it is named
	var receiver nodes.Expression = number(1)
	chain := 0
	if method, ok := n.Func.(*nodes.GetAttribute); ok {
		if n.Parent == nil { // the library forgets it if it is in parentheses
			n.Parent = method.Node
		}
		receiver, chain = n.Parent, 1+w.chains[n.Parent]
	}
	if chain > longest {
		return nil, fmt.Errorf("more than %d calls of methods, each on the result of the one before", longest)
	}
	for i := range n.Args {
		n.Args[i] = charge(chargeRead, n.Args[i])
	}
	for name := range n.Kwargs {
		n.Kwargs[name] = charge(chargeRead, n.Kwargs[name])
	}
	whole := &nodes.BinaryExpression{
		Left:     charge(chargeCall, receiver, w.call),
		Operator: &nodes.BinOperator{Token: &tokens.Token{Type: tokens.And, Val: "and"}},
		Right:    charge(chargeResult, n),
	}
	w.chains[whole] = chain
	return whole, nil
}

// cheapTest reports whether the cost of a test does not depend on its input.
func cheapTest(name string) bool {
	switch name {
	case "defined", "undefined", "none", "string", "number", "integer", "float", "boolean", "mapping", "iterable",
		"sequence", "callable", "true", "false", "odd", "even":
		return true
	}
	return false
}

// macro is the definition of a macro whose calls are bounded in depth.
type macro struct {
	*controlStructures.MacroControlStructure
}

var _ exec.ControlStructure = (*macro)(nil)

// Execute implements exec.ControlStructure.
func (m *macro) Execute(r *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	f, err := exec.MacroNodeToFunc(m.Macro, r)
	if err != nil {
		return fmt.Errorf("macro %s: %w", m.Name, err)
	}
	b := of(r.Evaluator())
	r.Environment.Context.Set(m.Name, exec.Macro(func(params *exec.VarArgs) *exec.Value {
		b.depth++
		defer func() { b.depth-- }()
		if b.depth > maxDepth {
			return exec.AsValue(b.exceed(fmt.Sprintf("it calls macros more than %d deep", maxDepth)))
		}
		return f(params)
	}))
	return nil
}
