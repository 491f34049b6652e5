package file

import (
	"fmt"
	"io/fs"
)

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

// Final returns true, since another attempt to read the file finds the same error: see graph.Failure.
func (e *FormatError) Final() bool { return true }

// StateError reports a file that is no state, or a state that is damaged or cut off.
type StateError struct{ Reason string }

func (e *StateError) Error() string { return "file: state of a factorization: " + e.Reason }

// Final returns true, since another attempt to read the state finds the same error: see graph.Failure.
func (e *StateError) Final() bool { return true }

// AccessError says that a node cannot read or write its part of a matrix file: the node does not find the
// file, or finds another one. The *exec.TaskError around the AccessError names the node.
type AccessError struct {
	File    string
	Reason  string
	Missing bool // the node does not find the file
}

func (e *AccessError) Error() string { return e.File + ": " + e.Reason }

// Is reports whether target is fs.ErrNotExist and e.Missing is set.
func (e *AccessError) Is(target error) bool { return e.Missing && target == fs.ErrNotExist }
