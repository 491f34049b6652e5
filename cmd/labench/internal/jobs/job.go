package jobs

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// State is where a job stands.
type State string

const (
	Coming    State = "coming"    // its input is on its way; only job.json says so
	Queued    State = "queued"    // it waits for those before it
	Running   State = "running"   // its process does
	Done      State = "done"      // its process has ended well
	Failed    State = "failed"    // Job.Error says why
	Cancelled State = "cancelled" // by somebody
	Removed   State = "removed"   // by somebody, when it had ended; only the answer to that says so
)

// written reports whether job.json may say so.
func (s State) written() bool { return s.Over() || s == Coming || s == Queued || s == Running }

// Over reports whether the job has ended.
func (s State) Over() bool { return s == Done || s == Failed || s == Cancelled }

// Is returns what people say of a job in that state: "is queued", "has failed".
func (s State) Is() string {
	if s == Failed {
		return "has failed"
	}
	return "is " + string(s)
}

// Spec is what somebody submits.
type Spec struct {
	// Args are an operation of labench and its flags, those that name no file.
	Args []string
	// Input is what the name of the input's file ends with, one of [Inputs]; empty if there
	// is none. The file itself comes beside the Spec.
	Input string `json:",omitempty"`
	// Keep says that the matrix of the result is wanted, too.
	Keep bool `json:",omitempty"`
	// Checkpoint has the operation keep its state, from which it goes on if it is begun again.
	Checkpoint bool `json:",omitempty"`
}

// Inputs returns what names of matrix files end with.
func Inputs() []string { return []string{".npy", ".mtx", ".npy.gz", ".mtx.gz", ".npz"} }

const (
	argsMost = 64  // words of a Spec
	wordMost = 200 // bytes of each
)

// check returns what is wrong with a Spec, which may come from a stranger or from a file that was
// changed by hand, as far as can be said without knowing operations.
func (s *Spec) check() error {
	if len(s.Args) == 0 || len(s.Args) > argsMost {
		return &Error{BadSpec, fmt.Sprintf("%d words, want an operation and its flags, %d words at most", len(s.Args), argsMost)}
	}
	for _, w := range s.Args {
		if len(w) > wordMost {
			return &Error{BadSpec, fmt.Sprintf("a word of %d bytes, want %d at most", len(w), wordMost)}
		}
		if !utf8.ValidString(w) || strings.ContainsFunc(w, unicode.IsControl) { // lists show them to people
			return &Error{BadSpec, fmt.Sprintf("%q is no word of a command line", w)}
		}
	}
	if s.Input != "" && !slices.Contains(Inputs(), s.Input) {
		return &Error{BadSpec, fmt.Sprintf("an input that ends with %.20q, want one of %v", s.Input, Inputs())}
	}
	return nil
}

// Job is a job as it stands.
type Job struct {
	ID int
	Spec
	Owner     string `json:",omitempty"` // the name in the certificate of the client that submitted it
	State     State
	Submitted time.Time
	Began     time.Time // the last time
	Ended     time.Time
	Begun     int     // how many times it was begun
	Lost      int     `json:",omitempty"` // how many times its agent died while it ran
	Ending    bool    `json:",omitempty"` // it runs, and was cancelled
	Part      float64 // of the work that is done, from 0 to 1
	Left      float64 // seconds that the rest takes at that pace; 0 if that is not known
	Error     string  `json:",omitempty"` // why it has failed, and in further lines what to do
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

// Kind is why a request is refused.
type Kind string

const (
	BadSpec  Kind = "bad request" // it makes no sense
	NotFound Kind = "not found"   // there is no such job, or it has no such file
	NotYet   Kind = "not yet"     // the job has to end first, or has ended already
	Full     Kind = "full"        // of jobs that wait
	TooLarge Kind = "too large"   // for what is left of the spool
	Locked   Kind = "locked"      // the spool is another agent's
	Broken   Kind = "broken"      // the agent's disk, or what is between
)

// Error is why a request is refused.
type Error struct {
	Kind Kind
	Text string
}

func (e *Error) Error() string { return e.Text }
