package monitor

import (
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
)

// Activity describes what a program does for a while: see [Server.Describe]. The zero value says
// nothing.
type Activity struct {
	Title string `json:"title"`           // "cholesky f64, n = 8192"
	Phase string `json:"phase,omitempty"` // "warm-up", if the program has several
	// Run is the number of this run, from 1, and Runs the number of all runs. 0 means that runs are
	// not counted, or that their number is unknown.
	Run  int `json:"run,omitempty"`
	Runs int `json:"runs,omitempty"`
	// Flops are the floating point operations of the run, for its rate at the end; 0 if unknown.
	Flops float64 `json:"flops,omitempty"`
}

// Progress is an [Activity] and how far it is. Times are microseconds from the recorder's start.
type Progress struct {
	Activity
	Since int64 `json:"since"`
	// Done and Total count tasks. Known says that Total counts all of them, by [Server.Progress];
	// else it counts those submitted so far.
	Done  int64 `json:"done"`
	Total int64 `json:"total"`
	Known bool  `json:"known"`
	// Left is the estimated remaining time of the run: 0 if unknown.
	Left int64 `json:"left"`
	// LeftAll is the estimated time until the last of Runs has ended: 0 if unknown, or if this is
	// the last.
	LeftAll int64 `json:"left_all,omitempty"`
}

// Past is a finished run. Times are microseconds.
type Past struct {
	Activity
	Since int64 `json:"since"`
	Took  int64 `json:"took"`
}

// kept is how many finished runs are remembered.
const kept = 20

// activities has the program's present activity and its finished runs. Its lock, a leaf, is taken
// by the program's calls and by requests.
type activities struct {
	mu   sync.Mutex
	now  Progress
	from trace.Counts // at its beginning
	// When the part of the run began that Done and Total belong to, and when Done last changed, in
	// microseconds. A run may have several parts.
	part, moved int64
	past        []Past // the latest runs, the oldest first
}

// begin notes that x begins at a time, with the tasks' counts then.
func (a *activities) begin(x Activity, at time.Duration, counts trace.Counts) {
	a.mu.Lock()
	defer a.mu.Unlock()
	us := at.Microseconds()
	if was := a.now; was.Run > 0 {
		if len(a.past) == kept {
			a.past = append(a.past[:0], a.past[1:]...)
		}
		a.past = append(a.past, Past{was.Activity, was.Since, us - was.Since})
	}
	a.now, a.from = Progress{Activity: x, Since: us}, counts
	a.part, a.moved = us, us
}

// progress notes the progress of the call under way.
func (a *activities) progress(done, total int, at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, us := &a.now, at.Microseconds()
	if n.Known && (int64(done) < n.Done || int64(total) != n.Total) {
		a.part = us
	}
	if int64(done) != n.Done {
		a.moved = us
	}
	n.Done, n.Total, n.Known = int64(done), int64(total), total > 0
}

// present returns the program's activity at a time, with the tasks' counts then, and its latest
// runs.
func (a *activities) present(at time.Duration, counts trace.Counts) (Progress, []Past) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.now
	n.Left = left(n.Done, n.Total, at.Microseconds()-a.part, at.Microseconds()-a.moved)
	if !n.Known {
		n.Left = 0
		n.Done, n.Total = counts.Ended-a.from.Ended, counts.Submitted-a.from.Submitted
	}
	n.LeftAll = leftAll(n, a.past, at.Microseconds()-n.Since)
	return n, append([]Past{}, a.past...)
}

// leftAll estimates the time until the last run has ended, if n has taken took so far: each run
// takes as long as earlier ones of its kind, or as this one if there are none.
func leftAll(n Progress, past []Past, took int64) int64 {
	if n.Run == 0 || n.Run >= n.Runs {
		return 0
	}
	var sum, count int64
	for _, p := range past {
		if p.Title == n.Title && p.Phase == n.Phase {
			sum, count = sum+p.Took, count+1
		}
	}
	rest, each := n.Left, took+n.Left
	if count > 0 {
		each = sum / count
		if rest == 0 {
			rest = max(0, each-took)
		}
	} else if rest == 0 {
		return 0
	}
	return rest + int64(n.Runs-n.Run)*each
}

// left estimates the time until all tasks have ended, from the time that done of them took and the
// time since the last one ended, in microseconds. It returns 0 while this would be a guess: before
// a twentieth of them and a second, and once none has ended for five seconds.
func left(done, total, took, quiet int64) int64 {
	if done >= total || done*20 < total || took < 1e6 || quiet > 5e6 {
		return 0
	}
	return int64(float64(took) / float64(done) * float64(total-done))
}
