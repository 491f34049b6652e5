package report

import (
	"fmt"
	"io"
)

// Status is a line on a terminal that shows what is going on. It is removed before anything else is written. It
// shows nothing if the writer is no terminal.
type Status struct {
	W     io.Writer
	shown bool
}

// NewStatus returns an empty line on w.
func NewStatus(w io.Writer) *Status {
	if !Terminal(w) {
		w = nil
	}
	return &Status{W: w}
}

// Set replaces the line.
func (s *Status) Set(format string, args ...any) {
	if s.W == nil {
		return
	}
	s.Clear()
	line := []rune(fmt.Sprintf(format, args...))
	fmt.Fprint(s.W, string(line[:min(len(line), 79)]))
	s.shown = true
}

// Clear removes the line.
func (s *Status) Clear() {
	if s.shown {
		fmt.Fprint(s.W, "\r\x1b[K")
		s.shown = false
	}
}
