package monitor

import (
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/trace"
)

// Activity is what a program does for a while, as it says itself: see [Server.Describe].
// The zero value says nothing.
type Activity struct {
	Title string `json:"title"`           // "cholesky f64, n = 8192"
	Phase string `json:"phase,omitempty"` // "warm-up", if the program has several
	// Run is the number of this run, from 1, and Runs how many there will be. 0 means that
	// the runs are not counted, or that nobody knows how many.
	Run  int `json:"run,omitempty"`
	Runs int `json:"runs,omitempty"`
	// Flops are the floating point operations of the run, for its rate once it has ended; 0
	// if they are not known.
	Flops float64 `json:"flops,omitempty"`
}

// Standing is an [Activity] and how far it is. Times are microseconds from the recorder's
// start.
type Standing struct {
	Activity
	Since int64 `json:"since"`
	// Done and Total are tasks. Known says that Total is all of them, as the program says
	// by [Server.Progress]; or else it is those that have been submitted so far.
	Done  int64 `json:"done"`
	Total int64 `json:"total"`
	Known bool  `json:"known"`
	// Left is about how long the rest of them takes: 0 if that is not known.
	Left int64 `json:"left"`
	// LeftAll is about how long it takes until the last of Runs has ended: 0 if that is not
	// known, or if this is the last.
	LeftAll int64 `json:"left_all,omitempty"`
}

// Past is a run that has ended. Times are microseconds.
type Past struct {
	Activity
	Since int64 `json:"since"`
	Took  int64 `json:"took"`
}

// kept is how many runs that have ended are remembered.
const kept = 20

// activities knows what the program does and did. A lock is taken when the program says
// something and when somebody asks; it is a leaf.
type activities struct {
	mu   sync.Mutex
	now  Standing
	from trace.Counts // when it began
	// When the part began that Done and Total belong to, as a run may have several, and when
	// Done last changed, both in microseconds.
	part, moved int64
	past        []Past // the latest, the oldest first
}

// begin notes that x begins at a time, when the tasks stood as counts say.
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
	a.now, a.from = Standing{Activity: x, Since: us}, counts
	a.part, a.moved = us, us
}

// progress notes how far the call under way is.
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

// standing returns what the program does at a time, when the tasks stand as counts say, and
// its latest runs.
func (a *activities) standing(at time.Duration, counts trace.Counts) (Standing, []Past) {
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

// leftAll is how long it takes until the last run has ended, if n has taken so long: each run
// takes as long as those like it before, or as this one if there were none.
func leftAll(n Standing, past []Past, took int64) int64 {
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

// left returns about how long it takes until all tasks have ended, if done of them took so
// long and the last one ended so long ago, in microseconds. It returns 0 as long as this
// would be a guess: before a twentieth of them and a second, and once none has ended for five
// seconds.
func left(done, total, took, quiet int64) int64 {
	if done >= total || done*20 < total || took < 1e6 || quiet > 5e6 {
		return 0
	}
	return int64(float64(took) / float64(done) * float64(total-done))
}
