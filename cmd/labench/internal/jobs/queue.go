package jobs

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options is what a queue needs.
type Options struct {
	// Dir is the directory of the jobs. It is the queue's alone.
	Dir string
	// Most is how many bytes all jobs may have there, but for what the one that runs is writing.
	Most int64
	// Check returns what is wrong with what somebody submits.
	Check func(*Spec) error
	// Command returns the process of a job, whose files are in dir. It ends soon when its
	// standard input does, and exits with 0 if all is well. On its standard output lines
	// "progress DONE TOTAL" say how far it is; those that begin with TextPrefix, without that, are
	// its report for people, and the others its report. What it says on standard error is its log.
	Command func(j *Job, dir string) *exec.Cmd
	// Log is told what nobody else is.
	Log *slog.Logger
}

// TextPrefix begins lines of a report for people.
const TextPrefix = "text "

// What one agent keeps is bounded, so that a client that may submit cannot fill its disk or its memory.
const (
	queueMost  = 100      // jobs that wait; more are refused
	keepMost   = 100      // jobs that have ended; older ones go
	lostMost   = 2        // times that the agent dies while a job runs; then it may be the reason
	logMost    = 16 << 20 // bytes of a log, the rest of which is dropped, and of a report, which may not have more
	patience   = 20 * time.Second
	reasonMost = 2000 // bytes of Job.Error
)

// Queue is the jobs of an agent. It is safe for concurrent use.
//
// Who changes a job takes two locks. While it holds disk, nobody else changes what is in the
// spool, or what becomes of a job: so job.json has the changes in their order. It holds mu for the
// change in memory only. So a client that asks where jobs stand never waits for the disk.
type Queue struct {
	opt   Options
	spool spool
	lock  *os.File                  // of the spool
	wake  chan struct{}             // capacity 1: there may be a job to run
	write func(*Job) error          // spool.write; tests have one that fails
	kept  func(io.Writer) io.Writer // what reports are written to; tests have one that fails

	disk sync.Mutex // before mu; it is held while files are written, so for as long as a disk takes
	last int        // the largest number that was given, idMost at most
	stop func()     // ends the job that runs, because it is cancelled

	mu     sync.Mutex // a leaf
	jobs   map[int]*Job
	coming int   // jobs whose input is on its way …
	bytes  int64 // … and the bytes of these inputs
}

// Open returns the queue of a directory, with the jobs that it has. One that ran when its agent
// died is queued again, once: if the agent dies with it again, it has failed. The directory is
// the queue's until Close, and until the process of its last job has ended, however its agent did:
// Open waits for that until ctx ends. The error is an *Error then, of kind [Locked].
func Open(ctx context.Context, opt Options) (*Queue, error) {
	// The lock first: until then another agent may be writing what would be read here.
	q := &Queue{opt: opt, spool: spool(opt.Dir), jobs: map[int]*Job{}, wake: make(chan struct{}, 1)}
	q.write, q.kept = q.spool.write, func(w io.Writer) io.Writer { return w }
	var err error
	if q.lock, err = q.spool.lock(ctx); err != nil {
		return nil, err
	}
	if err := q.restore(); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	q.look() // for those that waited when the last agent ended
	return q, nil
}

// Close gives the directory up. Run has to have ended.
func (q *Queue) Close() error { return q.lock.Close() }

// restore makes of the jobs in the spool what becomes of them in a new queue.
func (q *Queue) restore() error {
	q.disk.Lock()
	defer q.disk.Unlock()
	all, err := q.spool.read()
	if err != nil {
		return err
	}
	for _, j := range all {
		if j.State == Coming { // who sent its input knows that there is no job
			if err := q.spool.remove(j.ID); err != nil {
				return err
			}
			continue
		}
		// A new job gets a number above all that there are. Those of jobs that were removed may come
		// again only if they were the last ones.
		q.jobs[j.ID], q.last = j, max(q.last, j.ID)
		if j.State == Running { // an agent that ends in good order leaves none
			j.Lost++
		}
		switch {
		case j.State.Over():
		case j.Ending:
			q.ends(j, Cancelled, "")
		case j.Lost >= lostMost:
			q.ends(j, Failed, fmt.Sprintf("the agent died %d times while it ran", j.Lost))
		default:
			if err := q.opt.Check(&j.Spec); err != nil { // another program's, or somebody has written it
				q.ends(j, Failed, err.Error())
			} else if j.State != Queued {
				q.again(j)
			}
		}
	}
	return nil
}

// look has Run look for a job. It never waits: one look finds all jobs that there are by then.
func (q *Queue) look() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// admit makes the directory of a new job, for whose input there is room, and returns its number.
// The input is coming from now on. It counts before it is there: otherwise many at once would
// fill more than there is room for.
func (q *Queue) admit(size int64) (id int, err error) {
	q.disk.Lock() // nobody else takes the same room
	defer q.disk.Unlock()
	q.mu.Lock()
	// Files are measured each time. A count would be wrong after a crash, and does not know what
	// the job that runs has written.
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
	for _, id := range all { // those that come are in q.bytes
		left -= q.spool.size(id)
	}
	if left <= 0 || size > left {
		return 0, &Error{TooLarge, fmt.Sprintf("the input has %d bytes, and the agent has room for %d more in its --spool-limit: remove jobs that have ended, or raise it", size, max(left, 0))}
	}
	for err = fs.ErrExist; errors.Is(err, fs.ErrExist); { // somebody else's directories have numbers, too
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

// Submit queues a job, and returns it. The input, of so many bytes, is read first; it may be nil.
// The error is an *Error, or that of reading the input, and then there is no job.
func (q *Queue) Submit(s Spec, owner string, input io.Reader, size int64) (Job, error) {
	// What can be refused without looking at the disk is refused first, before any input is read.
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
	if s.Input != "" { // it takes its time, and this process may die meanwhile
		if err = q.write(j); err == nil {
			err = q.spool.put(j.ID, fileInput+s.Input, input, size)
		}
	}
	if j.State = Queued; err == nil {
		err = q.write(j)
	}
	// From here on the file itself counts, and not what was announced.
	q.mu.Lock()
	q.coming, q.bytes = q.coming-1, q.bytes-size
	if err == nil {
		q.jobs[j.ID] = j
	}
	told := *j // a copy: Run may begin it at once
	q.mu.Unlock()
	if err != nil { // nobody has heard of the job yet
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

// Open returns a file of a job: its log at any time, the others when it has ended. The error is
// an *Error.
func (q *Queue) Open(id int, file string) (*os.File, error) {
	j, err := q.Job(id)
	if err != nil {
		return nil, err
	}
	if file != FileLog && !j.State.Over() {
		return nil, &Error{NotYet, fmt.Sprintf("job %d is %s", id, j.State)}
	}
	// No lock is held from here on: a job that is removed meanwhile is not found, or its open files
	// are read to their end.
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

// Cancel ends a job, and returns it as it stands: one that runs is still running, and cancelled a
// little later. One that has ended stays as it is, with its files: who cancels it may not have known
// of its end. The error is an *Error.
func (q *Queue) Cancel(id int) (Job, error) {
	q.disk.Lock()
	defer q.disk.Unlock()
	j := q.job(id)
	switch {
	case j == nil: // Job says so
	case j.State.Over():
	case j.State == Running:
		// Written down before it is stopped: if this process dies before the job has ended, the
		// next one must not begin it again.
		_ = q.change(j, func() { j.Ending = true }) // it ends all the same
		q.stop()                                    // run notes the end, when the process has ended
	default:
		q.ends(j, Cancelled, "")
	}
	return q.Job(id)
}

// Remove removes a job that has ended, with its files, and returns what it was. The error is an
// *Error.
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

// job returns a job, nil if there is none. The caller holds disk, and may read all of it but Part
// and Left without mu.
func (q *Queue) job(id int) *Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.jobs[id]
}

// change changes a job, and writes down where it stands. The caller holds disk. If the disk fails that
// is logged: after a crash the job stands where job.json has it.
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

// again queues a job that ran. The caller holds disk.
func (q *Queue) again(j *Job) {
	_ = q.change(j, func() { j.State, j.Part, j.Left = Queued, 0, 0 }) // the next agent takes it for lost, and queues it again
}

// ends notes the end of a job, removes what nobody can ask for, and drops jobs that ended long ago.
// The caller holds disk.
func (q *Queue) ends(j *Job, s State, why string) {
	// The state first: files that stay after a crash cost room, and a job that has lost its files
	// must not be begun again.
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
	// By their ends, not their numbers: one that waited long has only just ended.
	slices.SortFunc(over, func(a, b *Job) int { return a.Ended.Compare(b.Ended) })
	for _, old := range over[:max(len(over)-keepMost, 0)] {
		if err := q.drop(old); err != nil {
			q.opt.Log.Warn("an old job stays", "job", old.ID, "error", err)
		}
	}
}

// endsUnwritten has a job fail whose end could not be written, and whose files have gone: nobody may
// take it for done now, and another agent begin it again. The caller holds disk.
func (q *Queue) endsUnwritten(j *Job, err error) {
	again := q.change(j, func() {
		if j.State == Done {
			j.State = Failed
		}
		j.Error = strings.TrimPrefix(j.Error+"; that it ended could not be written down: "+err.Error(), "; ")
	})
	if again == nil { // there was room without the files
		return
	}
	if err := q.spool.markEnded(j.ID); err != nil {
		q.opt.Log.Error("the next agent may begin a job again that has ended", "job", j.ID, "error", err)
	}
}

// drop removes a job that has ended. The caller holds disk. The error is an *Error; then the job is
// still there, and can be dropped again.
func (q *Queue) drop(j *Job) error {
	if err := q.spool.remove(j.ID); err != nil {
		return &Error{Broken, err.Error()}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.jobs, j.ID)
	return nil
}

// Run runs jobs until ctx ends, one after the other: each takes all agents. The one that runs then is
// ended, and queued again. It is called once.
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

// next returns the job that is to run, with what ends when it is cancelled; nil if there is none.
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
		// Before it is running for others: a cancellation then has something to stop.
		own, q.stop = context.WithCancel(ctx)
		err := q.change(j, func() { j.State, j.Began, j.Begun = Running, time.Now(), j.Begun+1 })
		if err == nil {
			return j, own
		}
		// Its end could not be written either.
		q.stop()
		q.ends(j, Failed, "it was not begun, as that could not be written down: "+err.Error())
	}
}

// run runs a job to its end.
func (q *Queue) run(ctx, own context.Context, j *Job) {
	err := q.execute(own, j)
	q.disk.Lock()
	defer q.disk.Unlock()
	q.stop() // which only frees what own has
	// How the process ended comes before what was asked of it: a result that is there is kept.
	switch {
	case err == nil: // also if it was cancelled, and had done its work by then
		q.ends(j, Done, "")
	case j.Ending:
		q.ends(j, Cancelled, "")
	case ctx.Err() != nil: // the agent ends, and that is not the job's fault
		q.again(j)
	case isReport(err): // the log has only what the process says
		q.ends(j, Failed, err.Error())
	default:
		q.ends(j, Failed, q.reason(j.ID, err))
	}
}

// execute runs the process of a job until it ends by itself, or own does. It holds no lock: a job
// may take days.
func (q *Queue) execute(own context.Context, j *Job) error {
	// Of a job that is begun again, log and report begin anew, too. A report is there when all of it is.
	if err := q.spool.tidyReports(j.ID); err != nil {
		return err
	}
	log, err := os.OpenFile(q.spool.at(j.ID, FileLog), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	reports, err := q.newReports(j.ID)
	if err != nil {
		return err
	}
	defer reports.discard()
	dir, err := filepath.Abs(q.spool.at(j.ID, ""))
	if err != nil {
		return err
	}
	// The process has three ways to talk: its input, whose end tells it to end; its output, for
	// progress and the report; its errors, which are the log.
	c := q.opt.Command(j, dir)
	stdin, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	said := &capped{w: log, left: logMost}
	c.Stderr = said
	if runtime.GOOS != "windows" { // where a process takes over no files
		c.ExtraFiles = []*os.File{q.lock} // the spool stays locked until it has ended, too
	}
	if err := c.Start(); err != nil {
		return err
	}
	// The process is asked to end by the end of its standard input, which it sees also if this
	// process dies. If it does not, it is killed. Its output ends with it, and so does the loop
	// below. Wait comes after that, because it would close the pipe under the loop. A kill that
	// comes after Wait does nothing.
	over := make(chan struct{})
	ending := sync.WaitGroup{}
	ending.Go(func() {
		select {
		case <-over:
			return
		case <-own.Done():
		}
		_ = stdin.Close()
		select {
		case <-over:
		case <-time.After(patience):
			_ = c.Process.Kill()
		}
	})
	defer ending.Wait()
	defer close(over)
	lines := bufio.NewReader(out)
	// Of a report that cannot be kept the rest is read and dropped: the process would wait for ever to
	// write it.
	for {
		// The last line may lack its end: it comes with an error, and counts all the same.
		line, err := lines.ReadString('\n')
		var done, total int
		if n, _ := fmt.Sscanf(line, "progress %d %d", &done, &total); n == 2 {
			q.progress(j, done, total)
		} else {
			reports.add(line)
		}
		if err != nil {
			break
		}
	}
	// A job that fails may have a report, too, and then that is not why.
	err = cmp.Or(c.Wait(), reports.commit())
	if said.err != nil { // the job's result does not depend on it
		q.opt.Log.Warn("the log of a job is not whole", "job", j.ID, "error", said.err)
	}
	return err
}

// progress notes how far a job is. It is not written down: who begins the job again starts at 0.
func (q *Queue) progress(j *Job, done, total int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if total > 0 && done > 0 && done <= total {
		j.Part = float64(done) / float64(total)
		j.Left = time.Since(j.Began).Seconds() * (1 - j.Part) / j.Part
	}
}

// reason returns why a job has failed: what its log says last, or else how its process ended.
func (q *Queue) reason(id int, err error) string {
	f, wrong := os.Open(q.spool.at(id, FileLog))
	if wrong != nil {
		return err.Error()
	}
	defer f.Close()
	if info, wrong := f.Stat(); wrong == nil {
		_, _ = f.Seek(max(info.Size()-reasonMost, 0), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, reasonMost))
	said := string(text)
	// labench says last why it fails, and then maybe what to do, each in a line. Before that are warnings.
	if i := strings.LastIndex(said, "labench: "); i >= 0 {
		return strings.TrimSpace(said[i+len("labench: "):])
	}
	return err.Error()
}

// capped is a writer that drops what comes after so many bytes, and what cannot be written: an error
// would stop who writes, and with it the job.
type capped struct {
	w    io.Writer
	left int
	err  error // of the first write that failed
}

// Write implements [io.Writer].
func (c *capped) Write(b []byte) (int, error) {
	n := min(len(b), c.left)
	c.left -= n
	if _, err := c.w.Write(b[:n]); err != nil {
		c.left, c.err = 0, cmp.Or(c.err, err)
	}
	return len(b), nil
}
