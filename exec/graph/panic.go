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
