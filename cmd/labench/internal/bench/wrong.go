package bench

import "fmt"

// WrongError says that a result did not pass; the report has said the rest.
type WrongError struct {
	Reason   string
	Overflow bool // it holds infinities or NaN
	Growth   bool // elements grew in an LU factorization, and that explains it
}

func (e *WrongError) Error() string { return "the result is wrong: " + e.Reason }

// Wrong returns a *WrongError for a result that did not pass.
func (r Result) Wrong() error {
	if r.Passed {
		return nil
	}
	return &WrongError{r.Failure, !r.Residual.Finite(), r.Growth*r.Limit > r.Residual}
}

// Problem says what was computed, of what.
func (r Result) Problem(s Spec) string {
	from := fmt.Sprintf("%v matrix, seed %d", s.Matrix, s.Seed)
	if s.Input != "" {
		from = s.Input
	}
	return fmt.Sprintf("%s %s, %s, %s", r.Op, r.Type, r.Shape(), from)
}
