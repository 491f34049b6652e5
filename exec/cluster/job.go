package cluster

import (
	"context"
	"errors"
	"sync"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
)

// job is an [exec.Job] on several nodes. It is the program's side of a placement: Submit
// and Wait.
type job struct {
	placement
	host     host
	submit   sync.Mutex // held by who submits or waits, before mu
	stopping func() bool
}

// host is what a job needs of the driver.
type host interface {
	// begin gives the job a number, under which messages name it, until end. The error
	// is exec.ErrClosed.
	begin(j *job) (number uint64, err error)
	// end has the nodes forget it.
	end(number uint64, nodes []*node)
}

// newJob returns a job on nodes, the driver first.
func newJob(h host, f *fleet, ctx context.Context, nodes []*node) *job {
	j := &job{host: h, placement: placement{fleet: f, ctx: ctx, nodes: nodes}}
	j.news.L = &j.mu
	j.graph.Owner = j
	j.graph.Failed = func(what string, f *graph.Fault) {
		f.Err = &exec.TaskError{Task: f.Task, Op: what, Worker: -1, Err: f.Err}
		j.outcome.Fail(f, false, false)
	}
	return j
}

// Submit implements [exec.Job].
func (j *job) Submit(s *graph.Spec) (graph.TaskID, error) {
	j.submit.Lock()
	defer j.submit.Unlock()
	s.Check()
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.admit(); err != nil {
		return 0, err
	}
	for _, o := range s.Operands {
		j.datum(o.Datum)
	}
	t, ready := j.graph.Add(s)
	j.count++
	id := t.ID()
	if ready {
		j.arrived([]*graph.Task{t})
		j.place()
	}
	return id, nil
}

// admit begins the job if it has no tasks, and waits for room in the window: until a
// quarter of it has run empty. It returns why nothing more is taken, if that is so. The
// caller holds both locks.
func (j *job) admit() error {
	if err := j.ctx.Err(); err != nil {
		j.outcome.Abort(context.Cause(j.ctx))
	}
	if j.number == 0 && j.Err() == nil {
		if err := j.begin(); err != nil {
			j.outcome.Abort(err)
		}
	}
	window := j.opt.Window
	if j.count-j.done >= window {
		for j.count-j.done > window-(window+3)/4 {
			j.news.Wait()
		}
	}
	if !j.outcome.GoesOn(graph.TaskID(j.graph.Len() + 1)) {
		return j.Err()
	}
	return nil
}

// begin prepares for the first task, and for the first one after a Wait: then everything
// is new, the number of the job included, for the program may have changed its data.
func (j *job) begin() (err error) {
	if j.number, err = j.host.begin(j); err != nil {
		return err
	}
	n := len(j.nodes)
	j.lost, j.room, j.batches = make([]bool, n), make([]int, n), make([][]task, n)
	m := dispatch.Machine{}
	for i, x := range j.nodes {
		m.Locations = append(m.Locations, i)
		if j.lost[i] = j.gone(x) != nil; !j.lost[i] {
			j.room[i] = ahead * x.workers
		}
	}
	j.queue = dispatch.NewQueue(j.opt.NewPolicy(m), n, n)
	j.where, j.data, j.names = newDirectory(j.number), map[*graph.Datum]int{}, map[transport.Ref]bool{}
	j.flying = map[graph.TaskID]*flight{}
	number := j.number
	j.work = j.exec.work(j.ctx, number, func(e end) { j.ended(j.nodes[0], []end{e}) })
	j.stopping = context.AfterFunc(j.ctx, func() {
		j.outcome.Abort(context.Cause(j.ctx))
		j.mu.Lock()
		j.place() // which cancels what is ready
		j.mu.Unlock()
	})
	return nil
}

// Wait implements [exec.Job]. It brings the latest version of each datum into the
// program's memory, and has the nodes forget the job.
func (j *job) Wait() error {
	j.submit.Lock()
	defer j.submit.Unlock()
	j.mu.Lock()
	if j.number == 0 {
		j.mu.Unlock()
		return j.Err()
	}
	if j.graph.Open() {
		j.graph.Seal()
	}
	for j.done < j.count || j.watches > 0 {
		j.news.Wait()
	}
	var missing []int
	for k := range j.where.data {
		if !j.where.has(k, 0) {
			missing = append(missing, k)
		}
	}
	j.mu.Unlock()
	if j.Err() == nil {
		if err := j.bring(missing); err != nil {
			j.outcome.Abort(err)
		}
	}
	j.stopping()
	j.host.end(j.number, j.nodes)
	j.mu.Lock()
	for d := range j.data {
		d.SetAt(0)
	}
	j.number, j.data, j.names, j.facts = 0, nil, nil, nil
	j.graph.Release()
	j.mu.Unlock()
	return j.Err()
}

// bring brings data to the driver, several at once. The error joins those of all that
// cannot be had.
func (j *job) bring(data []int) (err error) {
	got := make(chan error, len(data))
	for _, k := range data {
		j.mu.Lock()
		r, from := j.where.data[k].ref, j.holders(k)
		j.mu.Unlock()
		j.work.store.want(r, true, from, func() (any, error) { return nil, &transport.NotHereError{Ref: r} }, func(err error) { got <- err })
	}
	for range data {
		err = errors.Join(err, <-got)
	}
	return err
}

// WaitOn implements [exec.Job].
func (j *job) WaitOn(d *graph.Datum) error {
	got := make(chan error, 1)
	j.Notify(d, func(err error) { got <- err })
	return <-got
}

// Notify implements [exec.Job].
func (j *job) Notify(d *graph.Datum, done func(error)) {
	j.submit.Lock()
	defer j.submit.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.number == 0 {
		go done(j.Err())
		return
	}
	j.datum(d)
	t, ready := j.graph.AddWatch(d, &graph.Watch{Done: func(f *graph.Fault) {
		if f != nil {
			done(f.Err)
		} else {
			done(nil)
		}
	}})
	if ready {
		j.arrived([]*graph.Task{t})
	}
}

// Err implements [exec.Job].
func (j *job) Err() error {
	if f := j.outcome.Why(); f != nil {
		return f.Err
	}
	return nil
}

// Completed implements [exec.Job].
func (j *job) Completed() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.done
}

// Ignored implements [exec.Job].
func (j *job) Ignored() int { return j.outcome.Ignored() }

// Copies implements [exec.Job].
func (j *job) Copies() graph.Copies { return j.graph.Copies() }

// Story implements [exec.Job]: no stories are kept.
func (j *job) Story(id graph.TaskID) (exec.Story, error) {
	return exec.Story{}, &exec.NoStoryError{Task: id}
}
