package report

import (
	"fmt"
	"io"
)

// Status is a line on a terminal that says what is going on, and is gone
// before anything else is written. On anything but a terminal it is silent.
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

// Clear takes the line away.
func (s *Status) Clear() {
	if s.shown {
		fmt.Fprint(s.W, "\r\x1b[K")
		s.shown = false
	}
}
