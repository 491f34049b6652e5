package main

import (
	"fmt"
	"io"
)

// status is a line on a terminal that says what is going on, and is gone
// before anything else is written. On anything but a terminal it is silent.
type status struct {
	w     io.Writer
	shown bool
}

func newStatus(w io.Writer) *status {
	if !terminal(w) {
		w = nil
	}
	return &status{w: w}
}

// set replaces the line.
func (s *status) set(format string, args ...any) {
	if s.w == nil {
		return
	}
	s.clear()
	line := []rune(fmt.Sprintf(format, args...))
	fmt.Fprint(s.w, string(line[:min(len(line), 79)]))
	s.shown = true
}

// clear takes the line away.
func (s *status) clear() {
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}
