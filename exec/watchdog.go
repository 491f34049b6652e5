package exec

import (
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// watchdog is the watchdog's state. Workers tell it when attempts begin and end; it reads how many tasks
// of each job have ended.
//
// A task is late when it has run for longer than Watchdog.After, not counting the time in which it
// waited for children. A job is stuck when none of its tasks runs or ends although a worker is idle: its
// tasks wait for something else, such as a lock of the program. Time in which the process could not run
// does not count for either.
type watchdog struct {
	sched *scheduler
	jobs  *jobs
	opt   *Watchdog
	stop  func() // waits for a report that is being made

	mu      sync.Mutex // a leaf
	running map[*StuckTask]runningTask
}

// runningTask is a running task.
type runningTask struct {
	at       time.Time // when it began, or last began or stopped waiting for children
	job      *job
	excused  bool // it waits for its children
	reported bool
}

// newWatchdog returns a watchdog that runs until stop.
func newWatchdog(s *scheduler, all *jobs) *watchdog {
	d := &watchdog{sched: s, jobs: all, opt: s.opt.Watchdog, running: make(map[*StuckTask]runningTask)}
	jobs := map[*job]*progress{}
	d.stop = d.opt.Watch(func(pause time.Duration, now time.Time) []Stuck { return d.look(pause, now, jobs) })
	return d
}

// begin notes that a worker begins to execute t. The worker calls end with the result.
func (d *watchdog) begin(t *graph.Task, version string, worker int) *StuckTask {
	s := &StuckTask{Task: t.ID(), Op: t.Op.OpName(), Version: version, Worker: worker}
	for i := range t.Len() {
		o := t.Operand(i)
		s.Operands = append(s.Operands, o.Mode.String()+" "+o.Datum.String())
	}
	d.mu.Lock()
	d.running[s] = runningTask{at: time.Now(), job: jobOf(t)}
	d.mu.Unlock()
	return s
}

// end notes that s, which begin has returned, has ended. The program is not told of that after a report:
// it can ask the job.
func (d *watchdog) end(s *StuckTask) {
	d.mu.Lock()
	delete(d.running, s)
	d.mu.Unlock()
}

// excuse notes that s, which begin has returned, waits for its children until the returned function
// is called.
func (d *watchdog) excuse(s *StuckTask) (end func()) {
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

// progress is the state of a job when the watchdog last saw a reason not to call it stuck: a task of it
// had ended or ran, or no worker was idle. Only look uses it.
type progress struct {
	done     int64     // tasks that had ended
	since    time.Time // the time of that look
	reported bool
}

// forgive moves all noted times by a pause.
func (d *watchdog) forgive(pause time.Duration, now time.Time, jobs map[*job]*progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s, b := range d.running {
		if b.at = b.at.Add(pause); b.at.After(now) { // it began during the pause
			b.at = now
		}
		d.running[s] = b
	}
	for _, p := range jobs {
		p.since = p.since.Add(pause)
	}
}

// look returns the tasks and jobs that have become stuck. It reports a task once, and a job once until it
// gets on again. pause is the time before this look in which the process could not run.
func (d *watchdog) look(pause time.Duration, now time.Time, jobs map[*job]*progress) (found []Stuck) {
	if pause > 0 {
		d.forgive(pause, now, jobs)
	}
	alive := map[*job]bool{}
	for _, j := range d.jobs.alive() {
		alive[j] = true
	}

	// While all workers are busy, a job may rightly wait for one. The tasks that keep them busy are
	// reported if they are late.
	idle := d.sched.idle()
	busy := map[*job]bool{}
	// One report for all late tasks of a job.
	late := map[*job][]StuckTask{}
	d.mu.Lock()
	for s, b := range d.running {
		// While a child runs, its ancestors' jobs get on, too. A task that waits for its children
		// is not late.
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
		found = append(found, Stuck{Job: j.id, Tasks: tasks, Completed: j.endings.done.Load(),
			Submitted: j.submitted.Load()})
	}
	for j := range jobs {
		if !alive[j] {
			delete(jobs, j)
		}
	}
	for j := range alive {
		done, all := j.endings.done.Load(), j.submitted.Load()
		p := jobs[j]
		if p == nil || p.done != done || busy[j] || !idle || done == all {
			jobs[j] = &progress{done: done, since: now}
			continue
		}
		if now.Sub(p.since) > d.opt.After && !p.reported {
			p.reported = true
			found = append(found, Stuck{Job: j.id, Completed: done, Submitted: all})
		}
	}
	return found
}
