package cluster

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// job implements [exec.Job] on several nodes. It adds the program's side to a placement: Submit and
// Wait.
//
//	Submit ─► awaitWindow ─► begin, if it has no number ─► the graph ─► pushReady ─► place …
//	Wait   ─► awaitTasks: all tasks have ended, and no data are lost
//	       ─► bringHome: the driver fetches the program's data, and then overwrites its memory
//	          └─► if a node is lost meanwhile: awaitTasks again
//	       ─► endJob: nodes forget the job, and it has no number; the next Submit begins anew
type job struct {
	placement
	host     host
	submit   sync.Mutex  // held by the goroutine that submits or waits; taken before mu
	stopping func() bool // ends the watch over ctx
	began    time.Time   // when the first task since the last Wait was submitted
}

// host is what a job needs of its driver.
type host interface {
	// beginJob gives the job a number for messages, until endJob. The error is exec.ErrClosed, or a
	// *transport.DeafError.
	beginJob(j *job) (number uint64, err error)
	// endJob makes the nodes forget the job and its data.
	endJob(number uint64, nodes []*node, data []*core.Entry)
	// loseNode gives up a node. The caller holds no lock.
	loseNode(n *node, why error)
}

// newJob returns a job on nodes, the driver first.
func newJob(h host, f *fleet, ctx context.Context, nodes []*node) *job {
	j := &job{host: h, placement: placement{catalog: catalog{fleet: f, nodes: nodes}, ctx: ctx, mu: &f.placing}}
	j.news.L = j.mu
	j.routes = newRelays(&j.placement, h.loseNode)
	j.graph.Owner, j.graph.Pool = j, &f.tasks
	j.traced = f.record.follow(&j.graph)
	if n := f.opt.Stories; n > 0 {
		j.stories = exec.NewStories(n)
		j.graph.Observer = j.stories
	}
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
	if err := j.awaitWindow(); err != nil {
		return 0, err
	}
	if err := j.admit(s); err != nil {
		return 0, err
	}
	t, ready := j.add(s)
	id := t.ID()
	if ready {
		j.pushReady([]*graph.Task{t}, -1)
		j.place()
	}
	return id, nil
}

// admit makes entries for the data of a task. The error says why no node can execute the task. The caller holds mu.
func (j *job) admit(s *graph.Spec) error {
	var uses []*core.Entry
	for _, o := range s.Operands {
		if e := j.ensureEntry(o.Datum); j.maxMemory > 0 && !slices.Contains(uses, e) {
			uses = append(uses, e)
		}
	}
	if err := j.unmet(s); err != nil {
		return err
	}
	if j.maxMemory > 0 && core.BytesUsed(uses) > j.maxMemory {
		if op, ok := s.Op.(*versions.Op); ok && !op.Bound { // the driver has no cap
			c, _ := s.Constraints.(*versions.Constraints)
			err := j.memoryError(&j.sched.NodeTable, s.Op.OpName(), uses, j.sched.Fit.AskFor(core.Question{Op: op, Asks: c}))
			j.outcome.Abort(err)
			return err
		}
	}
	return nil
}

// add adds a task to the graph, and reports whether it is ready. The caller holds mu.
func (j *job) add(s *graph.Spec) (t *graph.Task, ready bool) {
	for _, o := range s.Operands {
		j.data.Of(o.Datum).Users++
	}
	if j.stories != nil && !j.recovering {
		j.stories.Submitted(graph.TaskID(j.graph.Len()+1), s)
	}
	t, ready = j.graph.Add(s)
	j.count++
	if j.onWritten != nil && j.hasAgents {
		j.rounds.NoteSubmitted(t, j.data)
	}
	return t, ready
}

// unmet returns why no available node can execute a task, nil if one can. The caller holds mu.
func (j *job) unmet(s *graph.Spec) error {
	c, ok := s.Constraints.(*versions.Constraints)
	if s.Constraints != nil && !ok {
		panic(exec.ErrConstraints)
	}
	op, ok := s.Op.(*versions.Op)
	if !ok {
		return nil
	}
	if op.Bound || slices.ContainsFunc(s.Operands, func(o graph.Operand) bool { return !j.data.Of(o.Datum).Sendable }) {
		if j.nodes[0].offer.Unmet(op, c) == nil {
			return nil
		}
		return j.noNode(op, c, j.nodes[:1])
	}
	if a := j.sched.Fit.AskFor(core.Question{Op: op, Asks: c}); a.Any || a.DriverOnly {
		return nil
	}
	return j.noNode(op, c, j.nodes)
}

// awaitWindow begins the job if it has no number. If the window is full, it waits until a quarter of
// the window is free. It returns the job's error if the job accepts no more tasks. The caller holds
// submit and mu.
func (j *job) awaitWindow() error {
	if j.ctx.Err() != nil {
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

// begin prepares the job for its first task, and for the first task after each Wait. It makes all state
// anew, including the job's number: meanwhile the program may have changed its data, and nodes may
// have joined. The caller holds mu.
func (j *job) begin() (err error) {
	if !j.recovering {
		j.nodes = j.allNodes()
	}
	if j.number, err = j.host.beginJob(j); err != nil {
		return err
	}
	j.sealed = false
	j.data, j.entries = &core.DataIndex{}, map[*core.Entry]bool{}
	j.homes, j.names, j.titles = map[*core.Entry]*home{}, map[transport.Ref]bool{}, map[[2]uint64]string{}
	choices := j.opt.choices()
	if j.delegated { // this node executes what nodes below have no room for
		choices.Owner, choices.Stay, choices.Idle = false, false, true
	}
	j.sched, j.batches = core.NewScheduler(choices, &j.directory, &j.experience, j.data), nil
	j.toSend = nil
	j.sched.Recovering = j.recovering
	j.sched.WillRun = func(t *graph.Task) bool { return j.outcome.GoesOn(t.ID()) }
	j.sched.DriverOnly = func(t *graph.Task) bool { return !j.sendable(t) }
	j.admitNodes()
	j.hasAgents = !j.sched.DriverAlone()
	j.rounds, j.lastAssigned, j.began = core.Rounds{Writers: map[*core.Entry][]graph.TaskID{}}, 0, time.Now()
	if !j.recovering {
		j.jobData[&j.placement] = j.entries
	}
	j.jobsBegun++
	j.order = j.jobsBegun
	number, own := j.number, j.nodes[0]
	j.work = j.exec.work(j.ctx, number, func(e end) { j.onEnded(own, j.exec.endedMessage(number, []end{e})) })
	j.work.setTracing(j.opt.Trace != nil, j.stories != nil)
	j.stopping = context.AfterFunc(j.ctx, func() {
		j.outcome.Abort(context.Cause(j.ctx))
		j.mu.Lock()
		j.place() // which cancels the ready tasks
		j.mu.Unlock()
	})
	return nil
}

// admitNodes admits nodes to the scheduler that it does not know yet. The caller holds mu.
func (j *job) admitNodes() {
	for i, x := range j.nodes {
		if i == len(j.batches) {
			j.batches = append(j.batches, batch{})
		}
		if j.sched.Absent(i) && j.unavailable(x) == nil {
			j.sched.Admit(i, x.workers, &x.memory, x.offer)
		}
	}
	j.sched.RebuildQueue()
	j.maxMemory = j.sched.MaxMemory(j.opt.Idle || j.delegated)
}

// addNodes admits a new node while the job runs. A job that began on the driver alone stays there: its
// tasks overwrite the program's memory, so what other nodes fetched from that memory could not be
// computed again.
func (j *job) addNodes(n *node) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.number == 0 || j.recovering || !j.hasAgents || !j.sched.Absent(n.index) {
		return
	}
	j.nodes = j.allNodes()
	j.admitNodes()
	j.place()
}

// Wait implements [exec.Job]. It brings the latest version of each datum into the program's memory,
// unless the datum is kept, and makes the nodes forget the job.
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
	j.sealed = true
	for e := range j.entries {
		j.dropUnused(e)
	}
	j.awaitTasks()
	for j.Err() == nil && !j.bringHome() {
		j.awaitTasks()
	}
	number, nodes := j.number, j.nodes
	var data []*core.Entry
	for e := range j.entries {
		if e.Set == 0 {
			data = append(data, e, e.Replica.Entry)
		}
	}
	j.mu.Unlock()
	j.stopping()
	j.host.endJob(number, nodes, data)
	j.mu.Lock()
	for d := range j.data.All() {
		d.SetAt(0)
	}
	for e := range j.entries {
		if e.Set == 0 {
			e.Replica = core.Replica{}
		}
		e.Datum, e.Spreaders = nil, nil // a cancelled task fetches nothing
	}
	delete(j.jobData, &j.placement)
	j.workSinceRound += j.exposedTime(j.began, time.Now())
	for e := range j.homes { // kept data may have been made from it; it is not available any more
		e.Holders, e.Home.Present, e.Base.Present = nil, false, false
	}
	j.fleet.pastTasks += int64(j.count - j.past)
	j.past = j.count
	j.number, j.data, j.entries, j.names, j.homes = 0, nil, nil, nil, nil
	j.graph.Release()
	delete(j.starving, &j.placement)
	j.retryStarving(&j.placement)
	j.mu.Unlock()
	return j.Err()
}

// awaitTasks waits until all tasks have ended and all lost data have been computed again. The
// caller holds mu.
func (j *job) awaitTasks() {
	for {
		for j.done < j.count || j.fetchesHome > 0 || j.sched.Paused {
			j.news.Wait()
		}
		lost := false
		for e := range j.entries {
			lost = lost || e.Lost()
		}
		if !lost || j.Err() != nil || j.recovering {
			return
		}
		j.sched.Paused = true
		j.place()
	}
}

// bringHome brings the program's data into its memory, and reports whether all have come. The driver
// first fetches all of them beside what that memory holds. It overwrites the memory only when nothing
// is lost: until then the nodes may need the old contents to compute lost data again. The caller holds
// mu; bringHome unlocks it while it fetches.
func (j *job) bringHome() bool {
	late := map[*core.Entry]*home{}
	for e, h := range j.homes {
		if !e.Home.Present || e.Home.Version != e.Version {
			late[e] = h
		}
	}
	if j.hasAgents {
		if !j.fetchAll(late, j.work.store.fetchBeside) {
			return false
		}
		for e := range j.entries {
			if e.Lost() {
				return false
			}
		}
	}
	if !j.fetchAll(late, j.work.store.overwriteHome) {
		return false
	}
	for e := range late {
		e.NoteHome(false)
	}
	return true
}

// fetchAll fetches data with way, a method of the store, and reports whether all have come. If some of
// them have no route now, it also waits until a path is tried again. The caller holds mu; fetchAll
// unlocks it while it fetches.
func (j *job) fetchAll(late map[*core.Entry]*home, way func(transport.Ref, *home, givers, func(error))) bool {
	type failure struct {
		e    *core.Entry
		from givers
		err  error
	}
	got, asked, pause := make(chan failure, len(late)), 0, time.Duration(0)
	for e, h := range late {
		wait, ok := j.routeHome(e)
		if !ok {
			pause = max(pause, min(wait, core.CutPause))
			continue
		}
		from := j.sourcesHome(e)
		asked++
		way(e.Ref, h, from, func(err error) { got <- failure{e, from, err} })
	}
	j.mu.Unlock()
	var all []failure
	for range asked {
		all = append(all, <-got)
	}
	j.pause(pause)
	j.mu.Lock()
	ok := asked == len(late)
	for _, f := range all {
		if f.err != nil {
			j.fetchFailed(f.e, 0, missingFrom(f.e.Ref, f.err), f.err)
			ok = false
		} else {
			f.e.AddHolder(0)
			j.noteHome(f.from)
		}
	}
	return ok
}

// pause sleeps for a while, or until the job's context ends.
func (j *job) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-j.ctx.Done():
	}
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
	j.ensureEntry(d)
	t, ready := j.graph.AddWatch(d, &graph.Watch{Done: func(f *graph.Fault) { done(f.Cause()) }})
	if ready {
		j.pushReady([]*graph.Task{t}, -1)
		j.place() // which begins a recovery if the datum is lost and no task is in flight
	}
}

// HandOn implements [exec.Hander]. The driver keeps a copy of the version, for nodes that are yet to fetch it, and to
// compute lost data again.
func (j *job) HandOn(d *graph.Datum, done func(error)) {
	j.Notify(d, func(err error) {
		if err == nil {
			j.leaveHome(d)
		}
		done(err)
	})
}

// leaveHome makes the job do without the memory of the program that has the latest version of d.
func (j *job) leaveHome(d *graph.Datum) {
	j.mu.Lock()
	if j.number == 0 { // it has no tasks
		j.mu.Unlock()
		return
	}
	e := j.data.Of(d)
	h, ref, work := j.homes[e], e.Ref, j.work
	delete(j.homes, e)
	e.Home.Present = false
	j.mu.Unlock()
	if h != nil {
		work.store.leaveHome(ref, h)
	}
}

// Err implements [exec.Job].
func (j *job) Err() error { return j.outcome.Why().Cause() }

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

// Story implements [exec.Job].
func (j *job) Story(id graph.TaskID) (exec.Story, error) {
	if j.stories == nil {
		return exec.Story{}, &exec.NoStoryError{Task: id}
	}
	return j.stories.Get(id)
}
