package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/trace"
)

// worthSaying is the part of the workers' time from which a loss has a sentence
// of its own.
const worthSaying = 0.01

// lossKind is why p workers are not p times as fast as one.
type lossKind uint8

const (
	lossMemory    lossKind = iota // kernels take longer beside others: caches, memory
	lossCores                     // … because the cores themselves are slower together
	lossWork                      // other tasks than one worker has
	lossReady                     // idle although a task was ready
	lossThrottled                 // idle as the window of tasks in flight was full
	lossWaiting                   // idle as tasks waited for the data of others
	lossNoTask                    // idle as all that was submitted had started
	lossOutside                   // before the first task and after the last one

	lossKinds // of one machine; those of several are

	lossOperands lossKind = iota - 1 // idle as tasks waited for operands of other nodes
	lossUneven                       // idle as other nodes had more to do
	lossIdle                         // idle for other reasons
)

// String returns the name in JSON.
func (k lossKind) String() string {
	return [...]string{"memory", "cores", "work", "ready", "throttled", "waiting", "no-task", "outside", "operands", "uneven", "idle"}[k]
}

// idleLosses are what workers lose while they are idle for a [trace.Reason].
var idleLosses = [...]lossKind{trace.Overhead: lossReady, trace.Throttled: lossThrottled, trace.Waiting: lossWaiting,
	trace.NoTask: lossNoTask, trace.Copying: lossNoTask}

// side is one of the two measurements: the fastest run with so many workers.
type side struct {
	workers   int
	result    bench.Result
	recording *trace.Recording
	took      time.Duration // of that run
	// path is that of the run whose tasks took the least time: what disturbs a run makes them longer.
	path trace.CriticalPath
}

// note notes the critical path of a run.
func (s *side) note(p trace.CriticalPath) {
	if s.path.Work == 0 || p.Work < s.path.Work {
		s.path = p
	}
}

// opTimes is the time that the tasks of an op take with one worker, and with all.
type opTimes struct {
	op      string
	calls   [2]int
	busy    [2]time.Duration // of all its tasks
	version [2]string        // that took most of the time
}

// each returns the mean time of a task on a side, 0 if there is none.
func (o *opTimes) each(side int) time.Duration {
	return o.busy[side] / time.Duration(max(o.calls[side], 1))
}

// slower returns by what part a task takes longer with all workers, 0 if it
// cannot be said.
func (o *opTimes) slower() float64 {
	one, all := o.each(0), o.each(1)
	if one == 0 || all == 0 {
		return 0
	}
	return float64(all)/float64(one) - 1
}

// loss is time of workers that is lost for one reason; a negative one is won.
type loss struct {
	kind lossKind
	time time.Duration // of all workers together
}

// ledger is what workers have lost of their time.
type ledger struct {
	time   time.Duration // of all workers together
	losses []loss        // the largest first
}

// sort puts the largest losses first.
func (x *ledger) sort() {
	slices.SortStableFunc(x.losses, func(a, b loss) int { return cmp.Compare(b.time, a.time) })
}

// share returns the part of the workers' time that t is.
func (x *ledger) share(t time.Duration) float64 { return float64(t) / float64(max(x.time, 1)) }

// tiles returns whether larger tiles are advised, 1, smaller ones, -1, or neither, 0: what lessens more
// of the losses worth saying. Want says that of one loss.
func (x *ledger) tiles(want func(lossKind) int) int {
	var sum time.Duration
	for _, l := range x.losses {
		if x.share(l.time) >= worthSaying {
			sum += time.Duration(want(l.kind)) * l.time
		}
	}
	return cmp.Compare(sum, 0)
}

// lost returns the sum of the losses.
func (x *ledger) lost() (sum time.Duration) {
	for _, l := range x.losses {
		sum += l.time
	}
	return sum
}

// account is what became of the workers' time. With T₁ and Tₚ, the times of
// one worker and of p, the loss is
//
//	p·Tₚ − T₁ = Σ losses
//
// without a rest: either side's time is the time inside tasks, idle by reason
// between the first task and the last one, and before and after them.
type account struct {
	ledger
	one, all side
	ops      []opTimes          // the longest first
	path     trace.CriticalPath // of the least disturbed run
	span     time.Duration      // of the tasks of all workers
	outside  [2]time.Duration
}

// newAccount condenses two measurements of one problem.
func newAccount(one, all side) *account {
	x := &account{one: one, all: all, path: all.path}
	x.time = time.Duration(all.workers) * all.took
	var lost [lossKinds]time.Duration
	x.span = all.recording.Summary().Span
	for k, s := range []side{one, all} {
		sign := time.Duration(2*k - 1) // what is lost is what takes longer with all
		x.outside[k] = s.took - s.recording.Summary().Span
		lost[lossOutside] += sign * time.Duration(s.workers) * x.outside[k]
		for w, idle := range s.recording.Idle() {
			if w >= s.workers { // kernels that were called without a task
				continue
			}
			for why, t := range idle {
				lost[idleLosses[why]] += sign * t
			}
		}
	}
	x.ops = opsOf(one, all)
	// With one worker the same tasks have the same path, and no other one beside them.
	if one.path.Work < x.path.Work && !slices.ContainsFunc(x.ops, func(o opTimes) bool { return o.calls[0] != o.calls[1] }) {
		x.path = one.path
	}
	var busyOne time.Duration
	for _, o := range x.ops {
		busyOne += o.busy[0]
		// Had each task taken as long as with one worker …
		same := o.each(0) * time.Duration(o.calls[1])
		switch o.calls[0] {
		case 0:
			same = o.busy[1]
		case o.calls[1]:
			same = o.busy[0]
		}
		lost[lossWork] += same - o.busy[0]
		lost[lossMemory] += o.busy[1] - same
	}
	cores := min(time.Duration(float64(busyOne)*x.coresSlower()), lost[lossMemory])
	if cores > 0 {
		lost[lossCores], lost[lossMemory] = cores, lost[lossMemory]-cores
	}
	for kind, t := range lost {
		x.losses = append(x.losses, loss{lossKind(kind), t})
	}
	x.sort()
	return x
}

// opsOf adds up the tasks of each op on either side.
func opsOf(one, all side) []opTimes {
	var ops []opTimes
	of := func(op string) *opTimes {
		i := slices.IndexFunc(ops, func(o opTimes) bool { return o.op == op })
		if i < 0 {
			i = len(ops)
			ops = append(ops, opTimes{op: op})
		}
		return &ops[i]
	}
	for k, s := range []side{one, all} {
		for _, e := range s.recording.Events {
			if e.Worker < s.workers {
				o := of(e.Op)
				o.calls[k]++
				o.busy[k] += e.End - e.Start
			}
		}
		for _, e := range s.recording.Shares {
			if e.Worker < s.workers {
				of(e.Op).busy[k] += e.End - e.Start
			}
		}
		for i := range ops {
			ops[i].version[k] = mainVersion(s, ops[i].op)
		}
	}
	slices.SortStableFunc(ops, func(a, b opTimes) int { return cmp.Compare(b.busy[1], a.busy[1]) })
	return ops
}

// mainVersion returns the version in which an op spent most of its time.
func mainVersion(s side, op string) (name string) {
	var most time.Duration
	for _, u := range s.recording.Summary().Usage {
		if u.Op == op && u.Busy > most {
			name, most = u.Version, u.Busy
		}
	}
	return name
}

// coresSlower returns by what part a loop of FMAs takes longer on all cores
// than on one: the clock, siblings of one core, other programs. It is 0 if the
// peak was not measured, or if the difference is within what such a
// measurement may be off.
func (x *account) coresSlower() float64 {
	const noise = 0.02
	one, all := x.one.result.PeakGFLOPS, x.all.result.PeakGFLOPS
	if one <= 0 || all <= 0 {
		return 0
	}
	if slower := one*float64(x.all.workers)/all - 1; slower > noise {
		return slower
	}
	return 0
}

// speedup returns T₁/Tₚ.
func (x *account) speedup() float64 { return float64(x.one.took) / float64(max(x.all.took, 1)) }

// worst returns the op that loses most by slower tasks, or nil.
func (x *account) worst() *opTimes {
	var worst *opTimes
	var most time.Duration
	for i := range x.ops {
		o := &x.ops[i]
		if more := time.Duration(o.slower() * float64(o.each(0)) * float64(o.calls[1])); more > most {
			worst, most = o, more
		}
	}
	return worst
}

// tasks returns the mean time of a task with all workers, and their number.
func (x *account) tasks() (mean time.Duration, n int) {
	var busy time.Duration
	for _, o := range x.ops {
		busy, n = busy+o.busy[1], n+o.calls[1]
	}
	return busy / time.Duration(max(n, 1)), n
}
