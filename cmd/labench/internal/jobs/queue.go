package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configures a queue.
type Options struct {
	// Dir is the directory of the jobs. Only the queue may use it.
	Dir string
	// Most is how many bytes all jobs may take there, without what the running job is writing.
	Most int64
	// Check returns what is wrong with a submitted Spec.
	Check func(*Spec) error
	// Command returns the process of a job, whose files are in dir. The process must end soon after its standard
	// input ends, and exit with 0 if all is well. On standard output it writes its progress as lines "progress
	// DONE TOTAL", its report for people as lines that begin with TextPrefix, and its report as the other lines.
	// Standard error is its log.
	Command func(j *Job, dir string) *exec.Cmd
	// Log gets messages that belong to no request or job.
	Log *slog.Logger
}

// These bounds keep clients that may submit from filling the agent's disk or memory.
const (
	queueMost = 100 // waiting jobs; more are refused
	keepMost  = 100 // ended jobs; older ones are dropped
	lostMost  = 2   // how often the agent may die while a job runs, before the job is blamed
)

// Queue holds the jobs of an agent. It is safe for concurrent use.
//
// A change of a job takes two locks. disk is held for the whole change, so that changes reach the spool and
// job.json in order. mu is held only for the change in memory, so that a client that asks for the state of jobs
// never waits for the disk.
type Queue struct {
	opt   Options
	spool spool
	lock  *os.File                  // of the spool
	wake  chan struct{}             // capacity 1: a job may be ready to run
	write func(*Job) error          // spool.write; tests replace it by one that fails
	kept  func(io.Writer) io.Writer // wraps the writers of reports; tests replace it by one that fails

	disk sync.Mutex // locked before mu; held while files are written, so it may take as long as the disk
	last int        // largest number given so far, at most idMost
	stop func()     // ends the running job when it is cancelled

	mu     sync.Mutex // a leaf
	jobs   map[int]*Job
	coming int   // jobs whose input is being received …
	bytes  int64 // … and the bytes of these inputs
}

// Open returns the queue of a directory, with the jobs in it. A job that was running when its agent died is
// queued again once; if the agent dies with it a second time, the job has failed. Open waits, until ctx ends,
// for an earlier agent and the process of its last job to release the directory. If it waits in vain, the error
// is an *Error of kind [Locked]. The directory belongs to the queue until Close and the end of its last job's
// process.
func Open(ctx context.Context, opt Options) (*Queue, error) {
	// Lock first: until then another agent may be writing what is read here.
	q := &Queue{opt: opt, spool: spool(opt.Dir), jobs: map[int]*Job{}, wake: make(chan struct{}, 1)}
	q.write, q.kept = q.spool.write, func(w io.Writer) io.Writer { return w }
	var err error
	if q.lock, err = q.spool.lock(ctx); err != nil {
		return nil, err
	}
	if err := q.restore(); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	q.look() // for jobs that waited when the last agent ended
	return q, nil
}

// Close releases the directory. Run must have returned.
func (q *Queue) Close() error { return q.lock.Close() }

// restore reads the jobs of the spool and sets the states that they have in a new queue.
func (q *Queue) restore() error {
	q.disk.Lock()
	defer q.disk.Unlock()
	all, err := q.spool.read()
	if err != nil {
		return err
	}
	for _, j := range all {
		if j.State == Coming { // its client was told of no job
			if err := q.spool.remove(j.ID); err != nil {
				return err
			}
			continue
		}
		// A new job gets a number above all present ones. Numbers of removed jobs are reused only if they were
		// the largest.
		q.jobs[j.ID], q.last = j, max(q.last, j.ID)
		if j.State == Running { // the agent did not end in good order
			j.Lost++
		}
		switch {
		case j.State.Over():
		case j.Ending:
			q.ends(j, Cancelled, "")
		case j.Lost >= lostMost:
			q.ends(j, Failed, fmt.Sprintf("the agent died %d times while it ran", j.Lost))
		default:
			if err := q.opt.Check(&j.Spec); err != nil { // from another version, or edited by hand
				q.ends(j, Failed, err.Error())
			} else if j.State != Queued {
				q.again(j)
			}
		}
	}
	return nil
}

// look wakes Run. It never blocks: a single wake-up makes Run find all jobs that exist by then.
func (q *Queue) look() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// admit reserves room for the input of a new job, makes the job's directory and returns its number. The input
// counts before it arrives. Otherwise many inputs at once could exceed the room.
func (q *Queue) admit(size int64) (id int, err error) {
	q.disk.Lock() // no other submission may take the same room
	defer q.disk.Unlock()
	q.mu.Lock()
	// Measure the files each time. A counter would be wrong after a crash, and would not include what the
	// running job has written.
	waiting, left := q.coming, q.opt.Most-q.bytes
	var all []int
	for id, j := range q.jobs {
		if all = append(all, id); j.State == Queued {
			waiting++
		}
	}
	q.mu.Unlock()
	if waiting >= queueMost {
		return 0, &Error{Full, fmt.Sprintf("%d jobs wait already: try again later, or cancel some", queueMost)}
	}
	for _, id := range all { // those being received are in q.bytes
		left -= q.spool.size(id)
	}
	if left <= 0 || size > left {
		return 0, &Error{TooLarge, fmt.Sprintf("the input has %d bytes, and the agent has room for %d more in its --spool-limit: remove jobs that have ended, or raise it", size, max(left, 0))}
	}
	for err = fs.ErrExist; errors.Is(err, fs.ErrExist); { // other programs' directories may have numbers as names, too
		if q.last == idMost {
			return 0, &Error{Full, fmt.Sprintf("there is a job %d, and no job has a larger number: remove it, and start the agent again", idMost)}
		}
		q.last++
		err = os.Mkdir(q.spool.at(q.last, ""), 0o700)
	}
	if err != nil {
		return 0, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.coming, q.bytes = q.coming+1, q.bytes+size
	return q.last, nil
}

// Submit queues a job and returns it. It first reads the input of size bytes; input may be nil. The error is an
// *Error, or the error of reading the input. If there is an error, there is no job.
func (q *Queue) Submit(s Spec, owner string, input io.Reader, size int64) (Job, error) {
	// Check first what needs no disk, before any input is read.
	err := s.check()
	if err == nil {
		if err = q.opt.Check(&s); err != nil {
			err = &Error{BadSpec, err.Error()}
		}
	}
	if err != nil {
		return Job{}, err
	}
	id, err := q.admit(size)
	if err != nil {
		return Job{}, err
	}
	j := &Job{ID: id, Spec: s, Owner: owner, State: Coming, Submitted: time.Now()}
	if s.Input != "" { // this takes time, and the process may die meanwhile
		if err = q.write(j); err == nil {
			err = q.spool.put(j.ID, fileInput+s.Input, input, size)
		}
	}
	if j.State = Queued; err == nil {
		err = q.write(j)
	}
	// From here on the file itself counts, instead of the announced size.
	q.mu.Lock()
	q.coming, q.bytes = q.coming-1, q.bytes-size
	if err == nil {
		q.jobs[j.ID] = j
	}
	told := *j // a copy: Run may start the job at once
	q.mu.Unlock()
	if err != nil { // no client knows of the job yet
		_ = q.spool.remove(j.ID)
		return Job{}, err
	}
	q.look()
	return told, nil
}

// Jobs returns all jobs, the oldest first.
func (q *Queue) Jobs() (all []Job) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		all = append(all, *j)
	}
	slices.SortFunc(all, func(a, b Job) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Job returns a job. The error is an *Error.
func (q *Queue) Job(id int) (Job, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := q.jobs[id]
	if j == nil {
		return Job{}, &Error{NotFound, fmt.Sprintf("there is no job %d: it was never submitted, or ended long ago", id)}
	}
	return *j, nil
}

// Open opens a file of a job: the log at any time, other files when the job has ended. The error is an *Error.
func (q *Queue) Open(id int, file string) (*os.File, error) {
	j, err := q.Job(id)
	if err != nil {
		return nil, err
	}
	if file != FileLog && !j.State.Over() {
		return nil, &Error{NotYet, fmt.Sprintf("job %d is %s", id, j.State)}
	}
	// No lock is held from here on. If the job is removed meanwhile, it is not found, or the opened file is read
	// to its end.
	f, err := os.Open(q.spool.at(id, file))
	if err != nil {
		why := ""
		if j.Error != "" {
			why = ": " + j.Error
		}
		return nil, &Error{NotFound, fmt.Sprintf("job %d %s, and has no %s%s", id, j.State.Is(), file, why)}
	}
	return f, nil
}

// Cancel cancels a job and returns it. A running job is still running then; it ends a little later. A job that
// has ended stays as it is, with its files, since the client may not have known of its end. The error is an
// *Error.
func (q *Queue) Cancel(id int) (Job, error) {
	q.disk.Lock()
	defer q.disk.Unlock()
	j := q.job(id)
	switch {
	case j == nil: // Job returns the error
	case j.State.Over():
	case j.State == Running:
		// Written before the job is stopped: if this process dies before the job ends, the next agent must not
		// start it again.
		_ = q.change(j, func() { j.Ending = true }) // the job ends even if this fails
		q.stop()                                    // run records the end once the process has ended
	default:
		q.ends(j, Cancelled, "")
	}
	return q.Job(id)
}

// Remove removes an ended job with its files, and returns the job. The error is an *Error.
func (q *Queue) Remove(id int) (Job, error) {
	q.disk.Lock()
	defer q.disk.Unlock()
	told, err := q.Job(id)
	switch {
	case err != nil:
		return told, err
	case !told.State.Over():
		return told, &Error{NotYet, fmt.Sprintf("job %d is %s: cancel it first", id, told.State)}
	}
	told.State = Removed
	return told, q.drop(q.job(id))
}

// job returns a job, or nil if there is none. The caller holds disk. It may read all fields but Part and Left
// without mu.
func (q *Queue) job(id int) *Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.jobs[id]
}

// change changes a job and writes its state. The caller holds disk. A failing disk is logged: after a crash the
// job has the state that job.json had before.
func (q *Queue) change(j *Job, how func()) error {
	q.mu.Lock()
	how()
	now := *j
	q.mu.Unlock()
	err := q.write(&now)
	if err != nil {
		q.opt.Log.Error("where a job stands is not on the disk", "job", j.ID, "error", err)
	}
	return err
}

// again queues a job that was running. The caller holds disk.
func (q *Queue) again(j *Job) {
	_ = q.change(j, func() { j.State, j.Part, j.Left = Queued, 0, 0 }) // if it fails, the next agent queues the job
}

// ends records the end of a job, removes the files that no client can ask for, and drops old ended jobs. The
// caller holds disk.
func (q *Queue) ends(j *Job, s State, why string) {
	// Write the state first. Files that remain after a crash only take room, but a job without its files must
	// not be started again.
	err := q.change(j, func() {
		j.State, j.Ended, j.Error, j.Left, j.Ending = s, time.Now(), why, 0, false
		if s == Done {
			j.Part = 1
		}
	})
	if wrong := q.spool.tidy(j.ID, fileJob, fileEnded, FileLog, FileReport, FileText, FileMatrix); wrong != nil {
		q.opt.Log.Warn("files of a job stay", "job", j.ID, "error", wrong)
	}
	if err != nil {
		q.endsUnwritten(j, err)
	}
	q.mu.Lock()
	var over []*Job
	for _, j := range q.jobs {
		if j.State.Over() {
			over = append(over, j)
		}
	}
	q.mu.Unlock()
	// Sort by time of end, not by number: a job that waited long has just ended.
	slices.SortFunc(over, func(a, b *Job) int { return a.Ended.Compare(b.Ended) })
	for _, old := range over[:max(len(over)-keepMost, 0)] {
		if err := q.drop(old); err != nil {
			q.opt.Log.Warn("an old job stays", "job", old.ID, "error", err)
		}
	}
}

// endsUnwritten makes a job fail whose end could not be written, and whose files are removed. Otherwise clients
// could take it for done now, and another agent could start it again. The caller holds disk.
func (q *Queue) endsUnwritten(j *Job, err error) {
	again := q.change(j, func() {
		if j.State == Done {
			j.State = Failed
		}
		j.Error = strings.TrimPrefix(j.Error+"; that it ended could not be written down: "+err.Error(), "; ")
	})
	if again == nil { // removing the files made room
		return
	}
	if err := q.spool.markEnded(j.ID); err != nil {
		q.opt.Log.Error("the next agent may begin a job again that has ended", "job", j.ID, "error", err)
	}
}

// drop removes an ended job. The caller holds disk. The error is an *Error; the job then still exists, and can
// be dropped again.
func (q *Queue) drop(j *Job) error {
	if err := q.spool.remove(j.ID); err != nil {
		return &Error{Broken, err.Error()}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.jobs, j.ID)
	return nil
}

// Run runs jobs until ctx ends, one at a time, since each uses all agents. When ctx ends, the running job is
// stopped and queued again. Run must be called once only.
func (q *Queue) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.wake:
		}
		for ctx.Err() == nil {
			j, own := q.next(ctx)
			if j == nil {
				break
			}
			q.run(ctx, own, j)
		}
	}
}

// next returns the next job, and a context that ends when the job is cancelled. It returns nil if no job waits.
func (q *Queue) next(ctx context.Context) (j *Job, own context.Context) {
	q.disk.Lock()
	defer q.disk.Unlock()
	for {
		j = nil
		q.mu.Lock()
		for _, x := range q.jobs {
			if x.State == Queued && (j == nil || x.ID < j.ID) {
				j = x
			}
		}
		q.mu.Unlock()
		if j == nil {
			return nil, nil
		}
		// Set stop before the job appears as running: a cancellation then has something to stop.
		own, q.stop = context.WithCancel(ctx)
		err := q.change(j, func() { j.State, j.Began, j.Begun = Running, time.Now(), j.Begun+1 })
		if err == nil {
			return j, own
		}
		// The end could not be written in this case either.
		q.stop()
		q.ends(j, Failed, "it was not begun, as that could not be written down: "+err.Error())
	}
}

// run runs a job to its end.
func (q *Queue) run(ctx, own context.Context, j *Job) {
	p := process{job: j, spool: q.spool, lock: q.lock, kept: q.kept, log: q.opt.Log,
		progress: func(done, total int) { q.progress(j, done, total) }}
	err := p.run(own, q.opt.Command)
	q.disk.Lock()
	defer q.disk.Unlock()
	q.stop() // only frees the resources of own
	// How the process ended counts more than a cancellation: an existing result is kept.
	switch {
	case err == nil: // also if it was cancelled after its work was done
		q.ends(j, Done, "")
	case j.Ending:
		q.ends(j, Cancelled, "")
	case ctx.Err() != nil: // the agent ends, which is not the job's fault
		q.again(j)
	case isReport(err): // the log has only what the process wrote
		q.ends(j, Failed, err.Error())
	default:
		q.ends(j, Failed, p.reason(err))
	}
}

// progress records how far a job is. It is not written to disk: a restarted job begins at 0.
func (q *Queue) progress(j *Job, done, total int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if total > 0 && done > 0 && done <= total {
		j.Part = float64(done) / float64(total)
		j.Left = time.Since(j.Began).Seconds() * (1 - j.Part) / j.Part
	}
}
