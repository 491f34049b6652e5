package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/versions"
)

// placement is where the tasks of a job are: in the graph, with the policy, on their way
// to a node or there.
//
// All of it is under one lock: who submits adds to the graph, and each message of ends
// takes tasks out of it, hands what they have freed to the policy, and gives nodes that
// have room new ones. Messages are put together under the lock when their turn to be sent
// comes, so that they hold all that has been given by then.
//
// Node i of the job is location i and worker i of the policy. That a node may begin a task
// is the graph's word; so no node ever waits for a task of another one, only for values,
// which are there.
type placement struct {
	*fleet
	ctx     context.Context
	outcome graph.Outcome

	mu      *sync.Mutex // fleet.placing, which guards what follows; the locks of outboxes are taken under it
	news    sync.Cond   // a task has ended
	number  uint64      // 0 while the job has no tasks in flight
	nodes   []*node
	lost    []bool // by node
	slots   []int  // owners: the node of each
	room    []int  // by node: how many more tasks it is given
	pace    []pace // by node
	graph   graph.Graph
	queue   *dispatch.Queue
	data    map[*graph.Datum]*entry
	entries map[*entry]bool
	homes   map[*entry]*home // of data that lie in the program's memory
	names   map[transport.Ref]bool
	fixed   bool // there are nodes that may be lost
	vains   int  // how often something was asked of nodes in vain
	flying  map[graph.TaskID]*flight
	most    int64           // bytes that the node with the most memory can have; 0: no cap
	batches [][]task        // by node: to be sent
	waiting [][]*graph.Task // by node: for room in its memory
	count   int             // tasks submitted
	done    int             // of these, ended
	watches int             // that bring a datum
	work    *work           // of this node

	order  uint64        // of the job, among those of the driver
	stuck  []*graph.Task // that cannot be given to anybody before what they read is made again
	mends  bool          // so nothing is given
	mender func()        // makes again what was lost, on a goroutine of its own; nil while it does
	sealed bool          // the program waits: it submits nothing now
	again  bool          // the job itself makes something again
}

// flight is a task that a node has been given, and what made its results if it ends well,
// nil if nobody could do so again.
type flight struct {
	task *graph.Task
	node *node
	made *record
	home bool // it works in the program's memory
	uses []*entry
}

// datum returns the entry of a datum. The first time it comes, what it holds is put where
// others can fetch it, unless it is kept: then it is where the jobs before have left it.
func (p *placement) datum(d *graph.Datum) *entry {
	if e := p.data[d]; e != nil {
		return e
	}
	if e := p.kept[d.Value]; e != nil {
		p.data[d], p.entries[e], e.label, e.datum = e, true, labelOf(d), d
		p.at(d, e)
		return e
	}
	r := transport.Ref{Job: p.number, Matrix: d.Key.Matrix, I: d.Key.I, J: d.Key.J}
	if r.Matrix == 0 || p.names[r] {
		r = p.name(p.number)
	}
	e := &entry{ref: r, facts: factsOf(d.Value), datum: d}
	e.label = labelOf(d)
	h := &home{value: d.Value, fixed: p.fixed}
	p.data[d], p.entries[e], p.homes[e], p.names[r] = e, true, h, true
	e.brought(false)
	p.at(d, e)
	p.work.store.adopt(r, h)
	return e
}

// name returns a new name for a datum of a job, or of a set: one that no matrix has.
func (p *placement) name(of uint64) transport.Ref {
	p.named++
	return transport.Ref{Job: of, Matrix: 1<<31 | p.named>>31, I: int32(p.named & (1<<31 - 1)), J: -1}
}

// at has policies know where a datum is.
func (p *placement) at(d *graph.Datum, e *entry) {
	var l graph.Locations
	for _, h := range e.holders {
		l |= 1 << uint(h)
	}
	d.SetAt(l)
}

// sendable reports whether other nodes can execute t: whether its op is bound to no
// process, its parameter plain, and its operands of types that others know.
func (p *placement) sendable(t *graph.Task) bool {
	op, ok := t.Op.(*versions.Op)
	if !ok || op.Bound || t.Shadowed() || t.Constraints() != nil {
		return false
	}
	for i := range t.Len() {
		if !p.known.names(p.data[t.Operand(i).Datum].kind) {
			return false
		}
	}
	return true
}

// arrived hands tasks that have become ready to the policy, and notifies the watches among
// them. The caller holds mu.
func (p *placement) arrived(ready []*graph.Task) {
	for i := 0; i < len(ready); i++ {
		t := ready[i]
		switch w := t.Watch(); {
		case w != nil:
			p.watched(t, w)
		case p.sendable(t):
			p.queue.Push(ready[i:i+1:i+1], -1)
		default:
			p.queue.Direct(t, 0)
		}
	}
}

// watched tells who watches a datum that it is there, in the program's memory, and ends the
// watch then: who writes the datum next waits for that. The caller holds mu.
func (p *placement) watched(t *graph.Task, w *graph.Watch) {
	e := p.data[t.Operand(0).Datum]
	f := t.Tainted()
	if f == nil && e.lost() {
		if p.mend(t) {
			return
		}
		f = p.outcome.Why()
	}
	tell := func(f *graph.Fault) {
		w.Done(f)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.watches--
		p.arrived(p.graph.End(t, graph.Done, nil, nil))
		p.place()
		p.news.Broadcast()
	}
	p.watches++
	h := p.homes[e]
	if f != nil || h == nil { // what is kept stays where it is
		go tell(f)
		return
	}
	p.work.store.bring(e.ref, h, p.holders(e), true, true, func(err error) {
		go func() {
			if err == nil {
				p.mu.Lock()
				e.brought(p.fixed)
				p.mu.Unlock()
				tell(nil)
				return
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			p.watches--
			e.home.there = e.home.there && !e.base.there // or else that is what it held
			p.vain(e, err)
			p.watched(t, w)
		}()
	})
}

// holders returns the names of the nodes that have the latest version of a datum.
func (p *placement) holders(e *entry) (names []string) {
	for _, h := range e.from() {
		names = append(names, p.nodes[h].name)
	}
	return names
}

// place gives nodes tasks as long as they have room, one node after the other, so that
// none gets all that is ready. The caller holds mu.
func (p *placement) place() {
	idle := p.opt.Idle && slices.Contains(p.lost[1:], false)
	for given := true; given && !p.mends; {
		given = false
		for i := range p.nodes {
			if p.lost[i] || p.room[i] <= 0 {
				continue
			}
			if t := p.next(i, i == 0 && idle); t != nil {
				given = true
				p.give(t, i)
			}
			if p.mends {
				break
			}
		}
		if !given {
			given = p.unstick(idle)
		}
	}
	for i, batch := range p.batches {
		if len(batch) > 0 {
			p.send(i)
		}
	}
	if p.mends && len(p.flying) == 0 && p.mender != nil {
		go p.mender()
		p.mender = nil
	}
}

// next returns the next task for a node, nil if there is none now: one for which it has
// room. The caller holds mu.
func (p *placement) next(i int, own bool) *graph.Task {
	n := p.nodes[i]
	for k, t := range p.waiting[i] {
		if p.fits(t, n) {
			p.waiting[i] = slices.Delete(p.waiting[i], k, k+1)
			return t
		}
	}
	for p.queue.Len() > 0 && (len(p.waiting[i]) < waitMost || len(p.flying) == 0) {
		var t *graph.Task
		if own {
			t = p.queue.Own(i)
		} else {
			t = p.queue.Pop(i)
		}
		if t == nil || p.fits(t, n) {
			return t
		}
		p.waiting[i] = append(p.waiting[i], t)
	}
	return nil
}

// waitMost is how many tasks wait for memory on a node before no other one of those that are
// ready is tried.
const waitMost = 8

// fits reports whether a node has the memory for a task, after it has dropped copies.
func (p *placement) fits(t *graph.Task, n *node) bool {
	m := &n.memory
	if m.most == 0 || p.again || !p.outcome.GoesOn(t.ID()) {
		return true
	}
	return m.room(n.index, uses(t, p.data), func(e *entry) {
		p.where.drop(n.index, e.ref)
		e.drop(n.index)
		e.asked = slices.DeleteFunc(e.asked, func(i int) bool { return i == n.index })
		if e.datum != nil {
			p.at(e.datum, e)
		}
	})
}

// unstick sees to it that something happens when all tasks that could be given wait for
// memory, and none is under way: they go to whoever has room, or end the job. It reports
// whether there is a task to be given.
func (p *placement) unstick(idle bool) bool {
	if len(p.flying) > 0 || p.watches > 0 {
		return false
	}
	var first *graph.Task
	for i, all := range p.waiting {
		for k, t := range all {
			for to, n := range p.nodes {
				if !p.lost[to] && (to > 0 || !idle) && p.fits(t, n) {
					p.waiting[i] = slices.Delete(p.waiting[i], k, k+1)
					p.give(t, to)
					return true
				}
			}
			if first == nil {
				first = t
			}
		}
	}
	if first == nil {
		return false
	}
	for _, n := range p.nodes {
		if n.memory.pinned() {
			p.starved[p] = p.place
			return false
		}
	}
	p.outcome.Abort(p.scarce(first.Op.OpName(), uses(first, p.data)))
	return true
}

// relieved has other jobs try again to give tasks that wait for memory: some may be free now.
// The caller holds mu.
func (p *placement) relieved() {
	for q, place := range p.starved {
		if q != p {
			delete(p.starved, q)
			place()
		}
	}
}

// scarce returns the error of a task for which no node has the memory.
func (p *placement) scarce(task string, uses []*entry) *MemoryError {
	err := &MemoryError{Task: task, Need: bytesUsed(uses)}
	for i, n := range p.nodes {
		if !p.lost[i] && n.memory.most > err.Memory {
			err.Node, err.Memory, err.Kept = n.name, n.memory.most, 0
			if err.Need <= err.Memory {
				err.Kept = n.memory.kept(i, uses)
			}
		}
	}
	return err
}

// give gives a node a task, or cancels it. It says of each operand which version the task
// reads, and from whom the node can have it: of those that the directory knows now. The
// caller holds mu.
func (p *placement) give(t *graph.Task, i int) {
	if f := p.cancelled(t); f != nil {
		p.end(t, graph.Cancelled, f)
		return
	}
	for k := range t.Len() {
		if o := t.Operand(k); o.Mode&graph.In != 0 && p.data[o.Datum].lost() {
			if !p.mend(t) {
				p.end(t, graph.Cancelled, p.outcome.Why())
			}
			return
		}
	}
	x := task{ID: uint64(t.ID()), Op: t.Op.OpName(), Priority: t.Priority}
	if f := t.Failure(); f != nil {
		x.Retries, x.Timeout = f.Retries, f.Timeout
	}
	sendable := p.sendable(t)
	made := &record{job: p.order, id: t.ID(), op: t.Op, params: t.Params, priority: t.Priority, retries: x.Retries, timeout: x.Timeout}
	if i == 0 {
		x.spec = &graph.Spec{Op: t.Op, Params: t.Params, Local: t.Local(), Constraints: t.Constraints()}
	} else {
		var err error
		if x.Params, err = versions.EncodeParams(nil, t.Params); err != nil {
			p.fail(t, p.nodes[0], newFault(err, nil))
			return
		}
	}
	for k := range t.Len() {
		o := t.Operand(k)
		e := p.data[o.Datum]
		made.uses = append(made.uses, use{e, e.version, o.Mode})
		y := operand{Ref: e.ref, Mode: o.Mode, Zero: e.unmade()}
		switch has := e.has(i); {
		case !sendable && p.homes[e] != nil:
			y.home, y.From = p.homes[e], p.holders(e)
		case e.copied != nil:
			y.Copy, y.From = e.copied, p.holders(e)
		case o.Mode&graph.In != 0 && !has:
			y.From = p.holders(e)
			if !slices.Contains(e.asked, i) { // or else it is on its way
				e.asked = append(e.asked, i)
				p.nodes[i].in += o.Datum.Bytes
			}
		}
		if !e.has(i) || e.copied != nil {
			y.Type, y.Shape = e.kind, e.shape
		}
		x.Operands = append(x.Operands, y)
	}
	if !sendable {
		made = nil
	}
	t.SetState(graph.Running)
	f := &flight{t, p.nodes[i], made, !sendable, nil}
	if p.nodes[i].memory.most > 0 {
		f.uses = uses(t, p.data)
		p.nodes[i].memory.pin(f.uses)
	}
	p.flying[t.ID()] = f
	p.room[i]--
	p.batches[i] = append(p.batches[i], x)
}

// send has the tasks that a node was given sent, with those that it gets until the
// message is made. The driver's own go the same way, so that nothing of them is executed
// under the lock. The caller holds mu.
func (p *placement) send(i int) {
	work, number := p.work, p.number
	p.nodes[i].out.add(func() []byte {
		p.mu.Lock()
		if number != p.number || len(p.batches[i]) == 0 { // all have ended meanwhile, or were sent
			p.mu.Unlock()
			return nil
		}
		tasks, drops := p.batches[i], p.where.drops(i)
		p.batches[i] = nil
		p.mu.Unlock()
		if i > 0 {
			return encode(kindRun, run{Job: number, Drops: drops, Tasks: tasks})
		}
		for _, r := range drops {
			work.store.drop(r)
		}
		for k := range tasks {
			work.run(&tasks[k])
		}
		return nil
	})
}

// cancelled returns why t must not run, nil if it may.
func (p *placement) cancelled(t *graph.Task) *graph.Fault {
	if f := t.Tainted(); f != nil {
		p.outcome.Inherit(f)
		return f
	}
	if p.outcome.GoesOn(t.ID()) {
		return nil
	}
	return p.outcome.Why()
}

// ended takes the ends of tasks that a node has executed. What comes late, from a node
// that was given up, is no matter.
func (p *placement) ended(n *node, m ended) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ends := m.Ends
	n.peak, n.busy, n.starving = max(n.peak, m.Peak), max(n.busy, m.Busy), max(n.starving, m.Starving)
	if i := p.index(n); i >= 0 {
		p.room[i] += p.pace[i].ended(len(ends), time.Now())
	}
	for _, e := range ends {
		f := p.flying[graph.TaskID(e.ID)]
		if f == nil || f.node != n {
			continue
		}
		delete(p.flying, graph.TaskID(e.ID))
		i := p.index(n)
		p.room[i]++
		n.memory.unpin(f.uses)
		if len(e.Missing) > 0 {
			p.retake(f.task, e)
			continue
		}
		// What a failed task has written is a version as well: its policy may be that
		// the failure does not matter.
		for k := range f.task.Len() {
			o := f.task.Operand(k)
			switch x := p.data[o.Datum]; {
			case o.Mode&graph.Out == 0 && e.Fault == nil:
				x.read(i)
			case o.Mode&graph.Out != 0 && first(f.task, k):
				made := f.made
				if e.Fault != nil {
					made = nil
				}
				kept := p.fixed && x.home.version != x.version // or else it wrote over it
				for k, other := range p.nodes {
					if k != i && other.memory.forget(x) && !x.has(k) { // zeros, or not come
						p.where.drop(k, x.ref)
					}
				}
				p.where.written(x, i, made)
				x.copied = nil
				if f.home && p.homes[x] != nil {
					x.brought(kept)
				}
			}
		}
		f.task.Used(i, 0)
		if e.Fault != nil {
			p.fail(f.task, n, e.Fault)
		} else {
			n.ran[f.task.Op.OpName()]++
			p.end(f.task, graph.Done, nil)
		}
	}
	p.place()
	p.relieved()
}

// retake sees to a task that a node could not begin because nobody gave it what the task
// reads: those who were to have it count as having lost it.
func (p *placement) retake(t *graph.Task, e end) {
	for i := range t.Len() {
		o := t.Operand(i)
		x := p.data[o.Datum]
		if o.Mode&graph.In != 0 && slices.Contains(e.Missing, x.ref) {
			p.vain(x, errors.New(e.Why))
		}
	}
	t.SetState(graph.Ready)
	p.arrived([]*graph.Task{t})
}

// vain notes that the latest version of a datum was asked of all its holders in vain. That
// this happens again and again ends the job.
func (p *placement) vain(e *entry, why error) {
	names := strings.Join(p.holders(e), ", ")
	p.opt.Log.Info("nodes did not give what they were to have", "nodes", names, "data", e.called(), "error", why)
	e.vain()
	if x := e.copyOf; x != nil && x.ref == e.name() {
		x.vain()
	}
	if p.vains++; p.vains > 1000 {
		p.outcome.Abort(&NodeLostError{Node: names, Err: why})
	}
}

// first reports whether operand k is the first with its datum that t writes.
func first(t *graph.Task, k int) bool {
	for i := range k {
		if o := t.Operand(i); o.Datum == t.Operand(k).Datum && o.Mode&graph.Out != 0 {
			return false
		}
	}
	return true
}

// index returns the number of a node in the job.
func (p *placement) index(n *node) int {
	for i, x := range p.nodes {
		if x == n {
			return i
		}
	}
	return -1
}

// fail does what the policy of a task says that has failed on a node, for good: its
// retries were the node's. The caller holds mu.
func (p *placement) fail(t *graph.Task, n *node, why *fault) {
	action := graph.Fail
	if f := t.Failure(); f != nil {
		action = f.Then
	}
	if action == graph.Ignore {
		p.outcome.Ignore()
		p.end(t, graph.Done, nil)
		return
	}
	err := why.err(n.name, p.known.errs)
	e := &exec.TaskError{Task: t.ID(), Op: t.Op.OpName(), Version: why.Version, Worker: why.Worker, Attempts: why.Attempts, Err: err}
	if n.index > 0 {
		e.Node = n.name
	}
	// A task that heeds the end of the context fails with it, as one that has not begun.
	end := p.ctx.Err()
	late := end != nil && (why.Text == end.Error() || why.Text == context.Cause(p.ctx).Error())
	if late {
		p.outcome.Abort(context.Cause(p.ctx))
	}
	p.end(t, graph.Failed, p.outcome.Fail(&graph.Fault{Task: t.ID(), Err: e}, late, action == graph.Fail))
}

// end takes a task out of the graph, with the fault that those get who read what it was
// to write. The caller holds mu.
func (p *placement) end(t *graph.Task, s graph.State, f *graph.Fault) {
	for k := range t.Len() {
		e := p.data[t.Operand(k).Datum]
		e.users--
		p.shed(e)
	}
	freed := p.graph.End(t, s, f, nil)
	p.done++
	p.arrived(freed)
	p.news.Broadcast()
}

// shed has nodes drop copies that no task will read any more: all but the first, and the
// driver's.
func (p *placement) shed(e *entry) {
	if e.users > 0 || !p.sealed || p.again || len(e.holders) < 2 {
		return
	}
	for _, h := range e.holders[1:] {
		if h > 0 {
			p.where.drop(h, e.ref)
			p.nodes[h].memory.forget(e)
		}
	}
	first := e.holders[0]
	e.holders = slices.DeleteFunc(e.holders, func(h int) bool { return h != first && h > 0 })
	e.asked = e.asked[:0]
}

// lose sees to what a node has of the job that has gone: its tasks go to others, and what
// nobody else has is made again when it is needed.
func (p *placement) lose(n *node) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.index(n)
	if i < 0 || p.number == 0 || p.lost[i] {
		return
	}
	p.lost[i], p.batches[i] = true, nil
	p.where.drops(i)
	for d, e := range p.data {
		if e.has(i) {
			e.drop(i)
			p.at(d, e)
		}
	}
	for id, f := range p.flying {
		if f.node == n {
			delete(p.flying, id)
			f.task.SetState(graph.Ready)
			p.arrived([]*graph.Task{f.task})
		}
	}
	waiting := p.waiting[i]
	p.waiting[i] = nil
	p.arrived(waiting)
	if p.opt.Owner { // its tasks are others' now
		for t := p.queue.Pop(i); t != nil; t = p.queue.Pop(i) {
			p.arrived([]*graph.Task{t})
		}
	}
	p.place()
	p.news.Broadcast()
}

// mend puts a task aside until what it reads, and nobody has any more, has been made again.
// Meanwhile nothing is given: tasks that are under way may be writing what that needs. It
// reports false if the job is itself one that makes something again: it ends, for another
// one to begin anew. The caller holds mu.
func (p *placement) mend(t *graph.Task) bool {
	if p.again {
		p.outcome.Abort(p.fleet.why())
		return false
	}
	p.mends, p.stuck = true, append(p.stuck, t)
	return true
}
