package file

import "fmt"

// FormatError reports a matrix file that is malformed or not supported.
type FormatError struct {
	File   string // name of the file, empty for a reader without one
	Line   int    // line number from 1 in a text format, 0 where there is none
	Reason string
}

func (e *FormatError) Error() string {
	name := e.File
	if name == "" {
		name = "matrix file"
	}
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", name, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s: %s", name, e.Reason)
}
