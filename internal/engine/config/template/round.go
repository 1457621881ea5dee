package template

import (
	"errors"
	"math"

	"github.com/nikolalohinski/gonja/v2/exec"
)

// round is Jinja's filter: round(precision=0, method="common"), where common rounds halves to
// the even neighbour, as Python does.
func round(_ *exec.Evaluator, in *exec.Value, params *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	precision, method := exec.AsValue(0), exec.AsValue("common")
	for i, to := range []**exec.Value{&precision, &method} {
		if len(params.Args) > i {
			*to = params.Args[i]
		}
		if v, given := params.KwArgs[[]string{"precision", "method"}[i]]; given {
			*to = v
		}
	}
	if !in.IsNumber() || !precision.IsInteger() || precision.Integer() > 15 || precision.Integer() < -15 {
		return exec.AsValue(errors.New("round takes a number, and a precision of -15 to 15"))
	}
	scale := math.Pow10(precision.Integer())
	x := in.Float() * scale
	switch method.String() {
	case "common":
		x = math.RoundToEven(x)
	case "floor":
		x = math.Floor(x)
	case "ceil":
		x = math.Ceil(x)
	default:
		return exec.AsValue(errors.New("the method of round is common, floor or ceil"))
	}
	return exec.AsValue(x / scale)
}
