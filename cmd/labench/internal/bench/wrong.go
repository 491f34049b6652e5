package bench

import "fmt"

// WrongError says that a result did not pass. The report contains the details.
type WrongError struct {
	Reason   string
	Overflow bool // the result has infinities or NaN
	Growth   bool // growth of elements in an LU factorization explains it
}

func (e *WrongError) Error() string { return "the result is wrong: " + e.Reason }

// Wrong returns a *WrongError for a result that did not pass.
func (r Result) Wrong() error {
	if r.Passed {
		return nil
	}
	return &WrongError{r.Failure, !r.Residual.Finite(), r.Growth*r.Limit > r.Residual}
}

// Problem describes what was computed.
func (r Result) Problem(s Spec) string {
	from := fmt.Sprintf("%v matrix, seed %d", s.Matrix, s.Seed)
	if s.Input != "" {
		from = s.Input
	}
	return fmt.Sprintf("%s %s, %s, %s", r.Op, r.Type, r.Shape(), from)
}
