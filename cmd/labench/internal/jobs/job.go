package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// State is the state of a job.
type State string

const (
	Coming    State = "coming"    // its input is being received; only in job.json
	Queued    State = "queued"    // it waits for earlier jobs
	Running   State = "running"   // its process runs
	Done      State = "done"      // its process has exited with 0
	Failed    State = "failed"    // Job.Error says why
	Cancelled State = "cancelled" // by a client
	Removed   State = "removed"   // by a client, after it ended; only in the answer to that request
)

// written reports whether s may stand in job.json.
func (s State) written() bool { return s.Over() || s == Coming || s == Queued || s == Running }

// Over reports whether the job has ended.
func (s State) Over() bool { return s == Done || s == Failed || s == Cancelled }

// Is describes a job in state s: "is queued", "has failed".
func (s State) Is() string {
	if s == Failed {
		return "has failed"
	}
	return "is " + string(s)
}

// Spec is what a client submits.
type Spec struct {
	// Args are an operation of labench and its flags, without those that name files.
	Args []string
	// Input is the ending of the input file's name, one of [Inputs]. It is empty if there is no input. The file
	// itself is sent beside the Spec.
	Input string `json:",omitempty"`
	// Keep asks for the matrix of the result, too.
	Keep bool `json:",omitempty"`
	// Checkpoint makes the operation save its state, so that it can resume if it is restarted.
	Checkpoint bool `json:",omitempty"`
}

// Inputs returns the endings of names of matrix files.
func Inputs() []string { return []string{".npy", ".mtx", ".npy.gz", ".mtx.gz", ".npz"} }

const (
	argsMost = 64  // words of a Spec
	wordMost = 200 // bytes of each
)

// check returns what is wrong with a Spec, as far as that is possible without knowledge of operations. The Spec
// may come from a stranger, or from a file that a user has edited.
func (s *Spec) check() error {
	if len(s.Args) == 0 || len(s.Args) > argsMost {
		return &Error{BadSpec, fmt.Sprintf("%d words, want an operation and its flags, %d words at most", len(s.Args), argsMost)}
	}
	for _, w := range s.Args {
		if len(w) > wordMost {
			return &Error{BadSpec, fmt.Sprintf("a word of %d bytes, want %d at most", len(w), wordMost)}
		}
		if !utf8.ValidString(w) || strings.ContainsFunc(w, unicode.IsControl) { // lists print them on terminals
			return &Error{BadSpec, fmt.Sprintf("%q is no word of a command line", w)}
		}
	}
	if s.Input != "" && !slices.Contains(Inputs(), s.Input) {
		return &Error{BadSpec, fmt.Sprintf("an input that ends with %.20q, want one of %v", s.Input, Inputs())}
	}
	return nil
}

// Job is a job and its state.
type Job struct {
	ID int
	Spec
	Owner     string `json:",omitempty"` // name in the certificate of the client that submitted it
	State     State
	Submitted time.Time
	Began     time.Time // when it was last started
	Ended     time.Time
	Begun     int     // number of starts
	Lost      int     `json:",omitempty"` // how often the agent died while it ran
	Ending    bool    `json:",omitempty"` // it runs, and was cancelled
	Part      float64 // part of the work that is done, from 0 to 1
	Left      float64 // estimated seconds left; 0 if unknown
	Error     string  `json:",omitempty"` // why it has failed; further lines say what to do
}

// checkWritten returns what is wrong with a Job that was read from a file.
func (j *Job) checkWritten() error {
	switch {
	case !j.State.written():
		return fmt.Errorf("the state is %.20q, which no job has", string(j.State))
	case j.Begun < 0 || j.Lost < 0:
		return fmt.Errorf("begun %d times and lost %d times, want at least 0", j.Begun, j.Lost)
	case !(j.Part >= 0 && j.Part <= 1 && j.Left >= 0):
		return fmt.Errorf("%g of it is done and %g s are left, want from 0 to 1, and at least 0", j.Part, j.Left)
	}
	return j.check()
}

// Kind is the kind of a refusal.
type Kind string

const (
	BadSpec  Kind = "bad request" // the request is invalid
	NotFound Kind = "not found"   // there is no such job or file
	NotYet   Kind = "not yet"     // the job has not ended yet, or has ended already
	Full     Kind = "full"        // too many jobs are waiting
	TooLarge Kind = "too large"   // the spool has not enough room left
	Locked   Kind = "locked"      // another agent uses the spool
	Broken   Kind = "broken"      // the agent's disk, or the connection, failed
)

// Error is a refusal and its reason.
type Error struct {
	Kind Kind
	Text string
}

func (e *Error) Error() string { return e.Text }
