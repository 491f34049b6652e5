package explain

import (
	"cmp"
	"slices"
	"time"

	"github.com/tessera-la/tessera/cmd/labench/internal/bench"
	"github.com/tessera-la/tessera/exec/trace"
)

// worthSaying is the part of the workers' time from which on a loss gets a sentence of its own.
const worthSaying = 0.01

// longPath is the part of a run from which on its critical path counts as the bound on it. If the
// path is shorter, at least 40 % of the run has another cause.
const longPath = 0.6

// lossKind is a reason why p workers are not p times as fast as one.
type lossKind uint8

const (
	lossMemory    lossKind = iota // kernels take longer because workers share caches and memory
	lossCores                     // kernels take longer because the cores are slower together
	lossWork                      // the tasks differ from those of one worker
	lossReady                     // idle although a task was ready
	lossThrottled                 // idle because the window of tasks in flight was full
	lossWaiting                   // idle because tasks waited for data of other tasks
	lossNoTask                    // idle because all submitted tasks had started
	lossOutside                   // before the first task and after the last

	lossKinds // number of kinds on one machine; the kinds on several nodes follow

	lossOperands lossKind = iota - 1 // idle because tasks waited for operands of other nodes
	lossUneven                       // idle because other nodes had more to do
	lossIdle                         // idle for other reasons
)

// String returns the name of the kind in JSON.
func (k lossKind) String() string {
	return [...]string{"memory", "cores", "work", "ready", "throttled", "waiting", "no-task", "outside", "operands", "uneven", "idle"}[k]
}

// idleLosses maps a [trace.Reason] to the loss of workers that are idle for it.
var idleLosses = [...]lossKind{trace.Overhead: lossReady, trace.Throttled: lossThrottled, trace.Waiting: lossWaiting,
	trace.NoTask: lossNoTask, trace.Copying: lossNoTask}

// side is one of the two measurements: the fastest run with a number of workers.
type side struct {
	workers   int
	result    bench.Result
	recording *trace.Recording
	took      time.Duration // of the fastest run
	// path is the critical path of the run whose tasks took the least time, since disturbances make tasks
	// longer.
	path trace.CriticalPath
}

// note notes the critical path of a run.
func (s *side) note(p trace.CriticalPath) {
	if s.path.Work == 0 || p.Work < s.path.Work {
		s.path = p
	}
}

// opTimes is the time that the tasks of an op take with one worker and with all workers. Index 0 is one worker.
type opTimes struct {
	op      string
	calls   [2]int
	busy    [2]time.Duration // of all its tasks
	version [2]string        // the version that took most of the time
}

// each returns the mean time of a task on a side. It returns 0 if there is none.
func (o *opTimes) each(side int) time.Duration {
	return o.busy[side] / time.Duration(max(o.calls[side], 1))
}

// slower returns by what part a task takes longer with all workers. It returns 0 if this is unknown.
func (o *opTimes) slower() float64 {
	one, all := o.each(0), o.each(1)
	if one == 0 || all == 0 {
		return 0
	}
	return float64(all)/float64(one) - 1
}

// loss is workers' time that is lost for one reason. A negative loss is a gain.
type loss struct {
	kind lossKind
	time time.Duration // of all workers together
}

// ledger is the workers' time and its losses.
type ledger struct {
	time   time.Duration // of all workers together
	losses []loss        // the largest first
}

// sort puts the largest losses first.
func (x *ledger) sort() {
	slices.SortStableFunc(x.losses, func(a, b loss) int { return cmp.Compare(b.time, a.time) })
}

// share returns t as a part of the workers' time.
func (x *ledger) share(t time.Duration) float64 { return float64(t) / float64(max(x.time, 1)) }

// tiles returns the advice on tile sizes that lessens more of the losses worth saying: 1 for larger tiles, -1
// for smaller ones, 0 for neither. want returns the advice for one loss.
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

// account accounts for the workers' time. With the times T₁ of one worker and Tₚ of p workers,
//
//	p·Tₚ − T₁ = Σ losses
//
// Nothing remains unexplained: the time of either side is the time in tasks, the idle time by reason between
// the first and the last task, and the time before and after these.
type account struct {
	ledger
	one, all side
	ops      []opTimes          // longest first
	path     trace.CriticalPath // of the least disturbed run
	span     time.Duration      // from the first task to the last, with all workers
	outside  [2]time.Duration
}

// newAccount makes the account from two measurements of one problem.
func newAccount(one, all side) *account {
	x := &account{one: one, all: all, path: all.path}
	x.time = time.Duration(all.workers) * all.took
	var lost [lossKinds]time.Duration
	x.span = all.recording.Summary().Span
	for k, s := range []side{one, all} {
		sign := time.Duration(2*k - 1) // a loss is what takes longer with all workers
		x.outside[k] = s.took - s.recording.Summary().Span
		lost[lossOutside] += sign * time.Duration(s.workers) * x.outside[k]
		for w, idle := range s.recording.Idle() {
			if w >= s.workers { // kernels that were called outside of tasks
				continue
			}
			for why, t := range idle {
				lost[idleLosses[why]] += sign * t
			}
		}
	}
	x.ops = opsOf(one, all)
	// With one worker the same tasks have the same critical path, and no other task disturbs them.
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

// opsOf adds up the tasks of each op on both sides.
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

// coresSlower returns by what part a loop of FMAs takes longer on all cores than on one. Reasons are a lower
// clock, siblings on one core and other programs. It returns 0 if the peak was not measured, or if the
// difference is within the error of the measurement.
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

// tasks returns the mean time and the number of tasks with all workers.
func (x *account) tasks() (mean time.Duration, n int) {
	var busy time.Duration
	for _, o := range x.ops {
		busy, n = busy+o.busy[1], n+o.calls[1]
	}
	return busy / time.Duration(max(n, 1)), n
}
