package graph

import "fmt"

// PanicError is a panic inside a task, or a call of runtime.Goexit.
type PanicError struct {
	Value any    // what was passed to panic; nil for Goexit
	Stack []byte // the stack of the panicking goroutine
}

func (e *PanicError) Error() string {
	if e.Value == nil {
		return "task called runtime.Goexit"
	}
	return fmt.Sprintf("panic: %v", e.Value)
}

// Unwrap returns the panic's value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Misuse of [Graph.Give], and errors of a [Spec].
const (
	ErrNoOp    Error = "graph: task without an op"
	ErrNoDatum Error = "graph: operand without a datum"
	ErrMode    Error = "graph: no such access mode, REDUCE without a Reduction, or COMMUTE and REDUCE at once"
	ErrOperand Error = "graph: no such operand"
	ErrGiven   Error = "graph: the task has finished with the operand before"
)

// Error is the type of the constants that this package panics with.
type Error string

func (e Error) Error() string { return string(e) }
