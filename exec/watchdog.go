package exec

import (
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec/graph"
)

// dog is the watchdog's goroutine, and what it knows. It learns of each attempt when that
// begins and ends, and looks at jobs by itself: at how many tasks have ended.
//
// A task is late when it has run for too long, without the time in which it waits for
// children. A job is stuck when nothing of it runs and nothing ends although a worker is
// idle: then it waits for something that does not come, a program's own lock say. Time in which
// the process stood still counts for neither.
type dog struct {
	sched *scheduler
	jobs  *jobs
	opt   *Watchdog
	stop  func() // waits for a report that is being made

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

// newDog returns a watchdog that runs until stop.
func newDog(s *scheduler, all *jobs) *dog {
	d := &dog{sched: s, jobs: all, opt: s.opt.Watchdog, running: make(map[*StuckTask]begun)}
	jobs := map[*job]*progress{}
	d.stop = d.opt.Watch(func(pause time.Duration, now time.Time) []Stuck { return d.look(pause, now, jobs) })
	return d
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

// end notes that what begin has returned has ended. If it was told of, nothing takes that
// back: a program that wants to know whether it did end asks the job.
func (d *dog) end(s *StuckTask) {
	d.mu.Lock()
	delete(d.running, s)
	d.mu.Unlock()
}

// excuse notes that what begin has returned, if it still runs, waits for its children
// until the function that excuse returns is called.
func (d *dog) excuse(s *StuckTask) (end func()) {
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

// progress is how far a job was when it last got on. Only the looks have it.
type progress struct {
	done     int64
	since    time.Time // and when all that kept it from it was others' tasks
	reported bool
}

// forgive moves by a pause what has happened before now.
func (d *dog) forgive(pause time.Duration, now time.Time, jobs map[*job]*progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s, b := range d.running {
		if b.at = b.at.Add(pause); b.at.After(now) { // it has begun since
			b.at = now
		}
		d.running[s] = b
	}
	for _, p := range jobs {
		p.since = p.since.Add(pause)
	}
}

// look returns what is newly stuck. Each thing is told of once: a job again when it has
// got on meanwhile, a task never. Before it nothing could run for pause.
func (d *dog) look(pause time.Duration, now time.Time, jobs map[*job]*progress) (found []Stuck) {
	if pause > 0 {
		d.forgive(pause, now, jobs)
	}
	alive := map[*job]bool{}
	for _, j := range d.jobs.alive() {
		alive[j] = true
	}

	// While all workers are busy a job may have to wait for its turn: that is no fault of
	// its own, and the tasks that keep them busy are told of if they are late.
	idle := d.sched.idle()
	busy := map[*job]bool{}
	// Of tasks that are late there is one report for each job.
	late := map[*job][]StuckTask{}
	d.mu.Lock()
	for s, b := range d.running {
		// A task that waits for its children is not at fault.
		// While a child runs, its parent's job gets on, and so does that one's.
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
		found = append(found, Stuck{Job: j.id, Tasks: tasks, Completed: j.endings.done.Load(), Submitted: j.submitted.Load()})
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
