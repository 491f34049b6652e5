package main

import (
	"io"
	"os"
)

// app is what the commands share: where they write. A test runs them with
// buffers in its place.
type app struct {
	out io.Writer // results: reports, tables, JSON
	err io.Writer // errors, warnings and the progress bar
}

// newApp returns the app of a process.
func newApp() *app { return &app{out: os.Stdout, err: os.Stderr} }

// terminal reports whether w is a terminal, where a report may have colour
// and a progress bar is seen.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && isTerminal(f.Fd())
}

// colourful reports whether what is written to w may have colour: on a
// terminal, unless NO_COLOR (https://no-color.org) or TERM=dumb forbid it.
func colourful(w io.Writer) bool {
	return terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
