package exec

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// Watchdog looks after a runtime: it tells of what is stuck, and does nothing
// about it.
type Watchdog struct {
	// After is the time after which a task that runs, or a job in which nothing
	// happens although a worker is idle, is taken for stuck. It must be longer than
	// the longest task. The time that a task waits for its children does not count.
	After time.Duration
	// Report is called once for each thing that is stuck, on a goroutine of the
	// runtime. It may call Job methods that do not wait.
	Report func(Stuck)
}

// Stuck is what a watchdog has found.
type Stuck struct {
	Job uint64 // number of the job in its runtime
	// Tasks are those that have been running for longer than Watchdog.After, since
	// they began or last waited for children; of a job in which no task runs, none.
	Tasks []StuckTask
	// Completed and Submitted count the tasks of the job.
	Completed, Submitted int64
}

// StuckTask is a task that does not end.
type StuckTask struct {
	Task     graph.TaskID
	Op       string
	Version  string
	Operands []string // as in "INOUT A(3,2)"
	Worker   int
	For      time.Duration
}

// String returns the report, a line for the job and one for each task.
func (s Stuck) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "job %d is stuck after %d of %d tasks", s.Job, s.Completed, s.Submitted)
	if len(s.Tasks) == 0 {
		b.WriteString(": none of the others runs")
	}
	for _, t := range s.Tasks {
		fmt.Fprintf(&b, "\n  task %d, %s (%s) on worker %d runs for %v: %s", t.Task, t.Op, t.Version, t.Worker,
			t.For.Round(time.Millisecond), strings.Join(t.Operands, ", "))
	}
	return b.String()
}

// dog is the watchdog's goroutine.
type dog struct {
	rt   *Local
	opt  *Watchdog
	quit chan struct{}
	over chan struct{}

	mu      sync.Mutex // a leaf
	running map[*StuckTask]begun
}

// begun is when a task began, and of which job it is.
type begun struct {
	at       time.Time
	job      *job
	excused  bool // it waits for its children
	reported bool
}

func newDog(l *Local, opt *Watchdog) *dog {
	d := &dog{rt: l, opt: opt, quit: make(chan struct{}), over: make(chan struct{}), running: make(map[*StuckTask]begun)}
	go d.watch()
	return d
}

func (d *dog) stop() {
	close(d.quit)
	<-d.over
}

// begin notes that a worker begins to execute t, until [dog.end].
func (d *dog) begin(t *graph.Task, version string, worker int) *StuckTask {
	s := &StuckTask{Task: t.ID(), Op: t.Op.OpName(), Version: version, Worker: worker}
	for i := range t.Len() {
		o := t.Operand(i)
		s.Operands = append(s.Operands, o.Mode.String()+" "+o.Datum.String())
	}
	d.mu.Lock()
	d.running[s] = begun{at: time.Now(), job: jobOf(t)}
	d.mu.Unlock()
	return s
}

// end notes that what begin has returned has ended.
func (d *dog) end(s *StuckTask) {
	d.mu.Lock()
	delete(d.running, s)
	d.mu.Unlock()
}

// excuse notes that the task that w executes, if it still does, waits for its
// children until the function that it returns is called.
func (d *dog) excuse(w *worker) (end func()) {
	s := w.watched
	note := func(waits bool) {
		d.mu.Lock()
		if b, ok := d.running[s]; ok {
			b.excused, b.at = waits, time.Now()
			d.running[s] = b
		}
		d.mu.Unlock()
	}
	note(true)
	return func() { note(false) }
}

// idle reports whether a worker has found nothing to do.
func (l *Local) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.parked)+l.spinning > 0
}

// progress is how far a job was when it last got on.
type progress struct {
	done     int64
	since    time.Time // and when all that kept it from it was others' tasks
	reported bool
}

// watch looks at everything four times in the time that is too long.
func (d *dog) watch() {
	defer close(d.over)
	tick := time.NewTicker(max(d.opt.After/4, time.Millisecond))
	defer tick.Stop()
	jobs := map[*job]*progress{}
	for {
		select {
		case <-d.quit:
			return
		case <-tick.C:
		}
		for _, s := range d.look(time.Now(), jobs) {
			d.opt.Report(s)
		}
	}
}

// look returns what is newly stuck.
func (d *dog) look(now time.Time, jobs map[*job]*progress) (found []Stuck) {
	alive := map[*job]bool{}
	d.rt.live.Lock()
	for j := range d.rt.live.jobs {
		alive[j] = true
	}
	d.rt.live.Unlock()

	// While all workers are busy a job may have to wait for its turn.
	idle := d.rt.idle()
	busy := map[*job]bool{}
	late := map[*job][]StuckTask{}
	d.mu.Lock()
	for s, b := range d.running {
		// A task that waits for its children is not at fault.
		for j := b.job; j != nil && !busy[j]; j = j.adopter {
			busy[j] = true
		}
		if took := now.Sub(b.at); took > d.opt.After && !b.reported && !b.excused {
			b.reported = true
			d.running[s] = b
			t := *s
			t.For = took
			late[b.job] = append(late[b.job], t)
		}
	}
	d.mu.Unlock()
	for j, tasks := range late {
		found = append(found, Stuck{j.id, tasks, j.done.Load(), j.submitted.Load()})
	}
	for j := range jobs {
		if !alive[j] {
			delete(jobs, j)
		}
	}
	for j := range alive {
		done, all := j.done.Load(), j.submitted.Load()
		p := jobs[j]
		if p == nil || p.done != done || busy[j] || !idle || done == all {
			jobs[j] = &progress{done: done, since: now}
			continue
		}
		if now.Sub(p.since) > d.opt.After && !p.reported {
			p.reported = true
			found = append(found, Stuck{j.id, nil, done, all})
		}
	}
	return found
}
