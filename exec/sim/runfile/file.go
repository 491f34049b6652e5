package runfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/sim"
)

// Run is a run recorded on one machine, on equal workers.
type Run struct {
	Title   string  `json:"title"`   // what it computed
	Machine string  `json:"machine"` // where
	Commit  string  `json:"commit"`  // of the program
	Sched   string  `json:"sched"`   // a policy of package dispatch
	Workers int     `json:"workers"`
	Seconds float64 `json:"seconds"` // its duration, including the time before and after the tasks
	// Program has the tasks with their times.
	Program *sim.Program `json:"program"`
}

// format and version begin a file. A reader refuses files of other versions.
const (
	format  = "tessera run"
	version = 1
)

// head is the beginning of a file.
type head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// file is a file: one JSON object.
type file struct {
	head
	Run
}

// FileError reports an error in a file.
type FileError struct {
	File   string
	Offset int64 // in bytes; 0 if unknown
	Reason string
}

func (e *FileError) Error() string {
	if e.Offset > 0 {
		return fmt.Sprintf("%s: byte %d: %s", e.File, e.Offset, e.Reason)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Reason)
}

// MostWorkers is the largest number of workers, as for a machine of package sim.
const MostWorkers = 1 << 14

const most = 1 << 30 // bytes of the largest file

// Read reads a run from a file. The error is a *FileError, or the system's.
func Read(name string) (*Run, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, &FileError{name, 0, fmt.Sprintf("larger than %d bytes", most)}
	}
	return Parse(name, data)
}

// Parse is [Read] of a file with that name and content.
func Parse(name string, data []byte) (*Run, error) {
	bad := func(format string, args ...any) (*Run, error) {
		return nil, &FileError{name, 0, fmt.Sprintf(format, args...)}
	}
	// Check the version first: a newer file may have other names.
	var h head
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return bad("it is no recorded run; labench OPERATION --record FILE writes one")
	}
	if err := json.Unmarshal(data, &h); err != nil {
		return nil, wrong(name, err)
	}
	switch {
	case h.Format != format:
		return bad("it is no recorded run; labench OPERATION --record FILE writes one")
	case h.Version != version:
		return bad("it has version %d of the format, and version %d is known", h.Version, version)
	}
	var f file
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, wrong(name, err)
	}
	r := &f.Run
	if r.Workers < 1 || r.Workers > MostWorkers {
		return bad("%d workers, want 1 to %d", r.Workers, MostWorkers)
	}
	if !(r.Seconds >= 0) {
		return bad("it took %g s, want at least 0", r.Seconds)
	}
	if _, err := dispatch.Parse(r.Sched); err != nil {
		return bad("%v", err)
	}
	if r.Program == nil {
		return bad("it has no program")
	}
	if err := r.Program.Validate(); err != nil {
		return bad("%v", err)
	}
	for _, j := range r.Program.Jobs {
		for i := range j {
			if j[i].Worker >= r.Workers {
				return bad("a task ran on worker %d of %d", j[i].Worker, r.Workers)
			}
		}
	}
	return r, nil
}

// wrong converts an error of the decoder into a *FileError.
func wrong(name string, err error) error {
	e := &FileError{name, 0, err.Error()}
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		e.Offset = s.Offset
	} else if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		e.Offset = t.Offset
	}
	return e
}

// Write writes a run as a file.
func Write(w io.Writer, r *Run) error {
	return json.NewEncoder(w).Encode(&file{head{format, version}, *r})
}
