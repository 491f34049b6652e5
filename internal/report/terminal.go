package report

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Columns is the largest width of a line that labench prints.
const Columns = 80

// Terminal reports whether w is a terminal. Only then may a report have colour and a progress bar.
func Terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && isTerminal(f.Fd())
}

// Paint adds colour to words of a report. The zero value adds none.
type Paint struct{ On bool }

// NewPaint returns the paint for w: colour on a terminal, unless NO_COLOR
// (https://no-color.org) or TERM=dumb forbid it.
func NewPaint(w io.Writer) Paint { return Paint{Terminal(w) && Coloured(os.Getenv)} }

// Coloured reports whether a terminal of this process may get colour. A process of MPI may not: its launcher
// gives it a terminal of its own, but passes the output on to its own output, which may be none.
func Coloured(env func(string) string) bool {
	if env("NO_COLOR") != "" || env("TERM") == "dumb" {
		return false
	}
	for _, launched := range []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"} {
		if env(launched) != "" {
			return false
		}
	}
	return true
}

func (p Paint) code(code, s string) string {
	if !p.On {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold returns s in bold.
func (p Paint) Bold(s string) string { return p.code("1", s) }

// Faint returns s in a faint colour.
func (p Paint) Faint(s string) string { return p.code("2", s) }

// Good returns s in the colour of what passed.
func (p Paint) Good(s string) string { return p.code("1;32", s) }

// Bad returns s in the colour of what failed.
func (p Paint) Bad(s string) string { return p.code("1;31", s) }

// Alert returns s in the colour of a warning.
func (p Paint) Alert(s string) string { return p.code("1;33", s) }

// FprintWrapped writes text behind label, broken between words into lines of at most 80 columns. Lines after
// the first are indented by the width of label. Line breaks in text stay, with the indentation that follows
// them.
func FprintWrapped(w io.Writer, label, text string) error {
	_, err := io.WriteString(w, Wrapped(label, text))
	return err
}

// Wrapped returns what FprintWrapped writes.
func Wrapped(label, text string) string {
	var b strings.Builder
	indent := strings.Repeat(" ", utf8.RuneCountInString(label))
	for line := range strings.Lines(text) {
		body := strings.TrimLeft(line, " ")
		more := indent + line[:len(line)-len(body)]
		b.WriteString(label + line[:len(line)-len(body)])
		used, first := utf8.RuneCountInString(more), true
		for _, word := range strings.Fields(body) {
			n := utf8.RuneCountInString(word)
			switch {
			case first:
			case used+1+n > Columns:
				b.WriteString("\n" + more)
				used = len(more)
			default:
				b.WriteByte(' ')
				used++
			}
			b.WriteString(word)
			used, first = used+n, false
		}
		b.WriteByte('\n')
		label = indent
	}
	return b.String()
}

// Pad returns s filled up with blanks to n columns.
func Pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s)))
}

// Clip returns s cut to n columns.
func Clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
