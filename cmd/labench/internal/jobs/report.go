package jobs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/tessera-la/tessera/internal/atomicfile"
)

// TextPrefix begins a line of the report for people.
const TextPrefix = "text "

// logMost is the largest number of bytes of a log, whose rest is dropped, and of a report; a longer one fails.
const logMost = 16 << 20

// reportError is why a report is lost. A job without its report has failed, whatever it computed.
type reportError struct{ err error }

func (e *reportError) Error() string { return "its report cannot be kept: " + e.err.Error() }

func (e *reportError) Unwrap() error { return e.err }

func isReport(err error) bool {
	_, ok := errors.AsType[*reportError](err)
	return ok
}

// reports receives the report of a job, for programs and for people. Both files appear once both are completely
// on the disk, or neither does.
type reports struct {
	files   []*atomicfile.File // FileReport and FileText
	into    []io.Writer        // same as files, except in tests
	written [2]int
	err     error // the first error
}

// newReports begins the report of a job. kept wraps the writers of its files.
func newReports(s spool, id int, kept func(io.Writer) io.Writer) (*reports, error) {
	r := &reports{}
	for _, name := range []string{FileReport, FileText} {
		f, err := atomicfile.Create(s.at(id, name), 0o600)
		if err != nil {
			r.discard()
			return nil, &reportError{err}
		}
		r.files, r.into = append(r.files, f), append(r.into, kept(f))
	}
	return r, nil
}

// add adds a line. After an error it does nothing.
func (r *reports) add(line string) {
	which := 0
	if text, ok := strings.CutPrefix(line, TextPrefix); ok {
		which, line = 1, text
	}
	if r.written[which] += len(line); r.err == nil && r.written[which] > logMost {
		r.err = fmt.Errorf("it has more than %d bytes", logMost)
	}
	if r.err == nil {
		_, r.err = io.WriteString(r.into[which], line)
	}
}

// commit completes the report. Empty files are not made. The error is nil or a *reportError.
func (r *reports) commit() error {
	defer r.discard()
	var full []*atomicfile.File
	for i, f := range r.files {
		if r.written[i] > 0 {
			full = append(full, f)
		}
	}
	if r.err == nil {
		r.err = atomicfile.Commit(full...)
	}
	if r.err != nil {
		return &reportError{r.err}
	}
	return nil
}

// discard drops files that are not committed.
func (r *reports) discard() {
	for _, f := range r.files {
		f.Discard()
	}
}

// tidyReports removes the report of a job that is started again.
func (s spool) tidyReports(id int) (err error) {
	for _, name := range []string{FileReport, FileText} {
		if wrong := os.Remove(s.at(id, name)); !errors.Is(wrong, fs.ErrNotExist) {
			err = errors.Join(err, wrong)
		}
	}
	return err
}
