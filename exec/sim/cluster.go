package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/exec/trace"
	"github.com/tessera-la/tessera/versions"
)

// Cluster is an exec.Keeper on several nodes in virtual time, like cluster.Driver in real time. One
// goroutine uses it.
type Cluster struct{ *driver }

// driverr is a driver with its nodes, for the job of the program or of the children of a task.
//
//	Submit ─► driver: graph, core ─► Run, in a batch ─► node: values from others ─► gate ─► crew
//	          driver: graph, core ◄─ Ended, in a batch ◄──────────────────────────── ends ◄──┘
//
// The driver does one thing at a time; messages wait meanwhile.
type driver struct {
	*world
	clock      *clock
	program    *core.Core // decides about the program's tasks
	core       *core.Core // decides now: program, or one that computes lost data again
	nodes      []*node
	of         []*node // node of each crew
	values     []value // by number of the datum
	inbox      []ended
	taken      int  // handled messages at the front of the inbox
	due        bool // an event that reads the inbox is in the calendar
	needs      []core.Need
	dirty      []int // nodes with a batch to be sent
	freed      []*graph.Task
	spare      *execution
	spareFetch *fetch
	lossState
}

// ended is a message of a node to the driver.
type ended struct {
	node  *node
	ends  []end
	flows []flow
	news  func() // not nil: the message is that the node is lost, or has come
}

// end is the end of a task.
type end struct {
	task graph.TaskID
	took float64
	back bool
	// lacks are the values that no node has, so that the task has not started.
	lacks []core.Need
}

// flow is a finished transfer.
type flow struct {
	from  int
	bytes int64
	took  float64
}

// NewCluster returns a runtime on the nodes of a machine, the driver's first. The error is a
// *MachineError.
func NewCluster(opt Options) (*Cluster, error) {
	w, err := newWorld(opt)
	if err != nil {
		return nil, err
	}
	if len(opt.Bodies) > 0 && len(w.m.Failures) > 0 {
		return nil, &MachineError{[]string{"failures where tasks have children are not modelled"}}
	}
	hosts := map[string]*host{}
	of := map[*Kind]*speeds{}
	var top []*crew
	groups := map[string][]*crew{}
	for _, g := range w.m.Nodes {
		k := w.m.kind(g.Kind)
		if of[k] == nil {
			of[k] = newSpeeds(k)
		}
		heads := groups[g.Below]
		for i := range g.Count {
			h := hosts[g.Host]
			if h == nil {
				if h = newHost(w, k); g.Host != "" {
					hosts[g.Host] = h
				}
			}
			by := &w.clock
			var head *crew
			if g.Below != "" {
				head = heads[i*len(heads)/g.Count]
				head.makeDriver()
				by = head.asDriver
			}
			c := w.crew(len(w.crews), of[k], h, by, false)
			if head == nil {
				top = append(top, c)
			} else {
				head.below = append(head.below, c)
			}
			if g.Drives {
				c.makeDriver()
			}
			if g.Name != "" {
				groups[g.Name] = append(groups[g.Name], c)
			}
		}
	}
	o := opt.Nodes
	o.Idle = w.m.Apart
	s := &Cluster{newDriver(w, o, top, &w.clock)}
	if len(w.m.Failures) > 0 {
		s.program.Remember()
		if s.lossy = true; !opt.Setup {
			s.script()
		}
	}
	return s, nil
}

// Reset starts the counts anew. Values stay on their nodes. No job may be under way.
func (s *Cluster) Reset() {
	s.world.Reset()
	if s.lossy && s.opt.Setup && !s.scripted {
		s.script()
	}
}

// Prediction returns the cost of the tasks so far.
func (s *Cluster) Prediction() *Prediction {
	p := s.world.Prediction()
	if s.lossy {
		p.Losses = &s.losses
	}
	return p
}

// makeDriver makes the node of a crew a driver of children.
func (c *crew) makeDriver() {
	if c.asDriver == nil {
		c.asDriver, c.below = &clock{}, []*crew{c}
	}
}

// newDriverr returns a driver on the nodes of some crews, its own first.
func newDriver(w *world, o cluster.Options, crews []*crew, by *clock) *driver {
	c := core.NewCore(core.Choices{Policy: o.Policy, ByPriority: o.ByPriority, NewPolicy: o.NewPolicy, Owner: o.Owner,
		Stay: o.Stay, Idle: o.Idle})
	s := &driver{world: w, clock: by, program: c, core: c, of: make([]*node, len(w.crews))}
	for i, c := range crews {
		n := s.newNode(c)
		s.nodes, s.of[c.node] = append(s.nodes, n), n
		s.core.AddNode(i, c.kind.Memory, c.offers(), w.selector)
	}
	s.core.RebuildQueue()
	return s
}

// Keep implements [exec.Keeper].
func (s *Cluster) Keep(values []versions.Shaped) (exec.Kept, error) {
	if s.closed {
		return nil, exec.ErrClosed
	}
	const some = 1 << 10 // values kept between two checks of the context
	for i, v := range values {
		if i%some == 0 && s.over() {
			return nil, s.err
		}
		s.program.Keep(v)
	}
	return &kept{s.driver, values}, nil
}

// kept is an [exec.Kept].
type kept struct {
	s      *driver
	values []versions.Shaped
}

// Fetch implements [exec.Kept]. Values have no elements.
func (*kept) Fetch(context.Context, versions.Shaped, versions.Value) error { return nil }

// Locate implements [exec.Kept].
func (k *kept) Locate(values []versions.Shaped) []int {
	at := make([]int, len(values))
	for i, v := range values {
		at[i] = k.s.program.HolderOf(v)
	}
	return at
}

// Release implements [exec.Kept].
func (k *kept) Release() {
	if k.s.over() {
		return // the nodes are gone
	}
	for _, v := range k.values {
		k.s.program.Release(v)
	}
	k.values = nil
	k.s.dropAll()
}

// dropAll makes all nodes drop values that no task will read.
func (s *driver) dropAll() {
	for _, n := range s.nodes {
		n.drop()
	}
}

// datum makes a datum known.
func (s *driver) datum(c *core.Core, d *graph.Datum) {
	if !s.lossy && c.Knows(d) { // a recovery's numbers are in no order
		return
	}
	k := c.Datum(d)
	for k >= len(s.values) {
		s.values = append(s.values, value{})
	}
	if v := &s.values[k]; v.of == nil {
		v.of, v.bytes = d, d.Bytes
		for _, i := range c.Holders(k) {
			v.nodes = append(v.nodes, int32(i))
		}
		if c != s.program { // else the holder is the program's memory
			v.lent = slices.Clone(v.nodes)
		}
	}
}

// place gives tasks to nodes as long as they have free slots.
func (s *driver) place() {
	cost := s.m.Costs.Give
	for t, i := range s.core.Assignments() {
		s.needs = s.core.Give(t, i, s.needs[:0])
		cost := cost
		if s.opt.Decided != nil {
			cost += s.opt.Decided()
		}
		s.clock.works(0, cost)
		n, e := s.nodes[i], s.spare
		if e == nil {
			e = &execution{}
		} else {
			s.spare = e.next
		}
		*e = execution{task: t, needs: append(e.needs[:0], s.needs...)}
		if len(n.batch) == 0 {
			s.dirty = append(s.dirty, i)
		}
		n.batch = append(n.batch, e)
	}
	for _, t := range s.core.TakeUnfit() {
		s.fail(fmt.Errorf("sim: no node can execute task %d, %s, or has the memory for it", t.ID(), t.Op.OpName()))
	}
	for _, i := range s.dirty {
		s.nodes[i].send()
	}
	s.dirty = s.dirty[:0]
	if s.lossy {
		s.recompute()
	}
}

// hears puts a message into the driver's inbox.
func (s *driver) hears(m ended) {
	s.inbox = append(s.inbox, m)
	s.look()
}

// look makes the driver read its inbox as soon as it is free.
func (s *driver) look() {
	if !s.due && len(s.inbox) > s.taken {
		s.due = true
		s.calendar.note(max(s.now, s.clock.free), s, 0)
	}
}

// happens implements [handler]: the driver reads its inbox.
func (s *driver) happens(uint64) {
	s.due = false
	if s.clock.free > s.now { // the program has used the driver meanwhile
		s.look()
		return
	}
	m := s.inbox[s.taken]
	s.inbox[s.taken] = ended{}
	if s.taken++; 2*s.taken >= len(s.inbox) {
		s.inbox = s.inbox[:copy(s.inbox, s.inbox[s.taken:])]
		s.taken = 0
	}
	s.take(m)
	s.look()
}

// take handles a message of a node.
func (s *driver) take(m ended) {
	if m.news != nil {
		s.clock.works(s.now, s.m.Costs.Message)
		m.news()
		s.place()
		return
	}
	tasks := 0
	for _, e := range m.ends {
		if e.task != 0 { // 0 says that all tasks have been given back
			tasks++
		}
	}
	s.clock.works(s.now, s.m.Costs.Message+float64(tasks)*s.m.Costs.End)
	id := m.node.id
	s.core.NoteEnded(id, tasks, tasks, core.At(duration(s.now)))
	for _, f := range m.flows {
		s.core.Learned.LearnTransfer(f.from, id, 1, f.bytes, duration(f.took))
	}
	for _, e := range m.ends {
		if e.back {
			if e.task == 0 {
				s.program.EndRecall(id) // a recovery asks for no tasks back
			} else {
				s.core.ReturnTask(id, e.task)
			}
			continue
		}
		if e.lacks != nil {
			s.core.ReturnLacking(id, e.task, e.lacks)
			continue
		}
		t := s.core.EndTask(id, e.task, max(duration(e.took), time.Nanosecond))
		if t == nil {
			continue
		}
		j := t.Graph().Owner.(*job)
		s.freed = j.end(t, s.freed[:0])
		s.core.Push(s.freed, id)
		clear(s.freed)
	}
	m.node.old = m
	s.early()
	s.place()
	for _, r := range s.core.Reclaim() {
		n := s.nodes[r.From]
		s.calendar.note(n.comes(s.clock.free), &recall{n, r.Tasks, r.Count}, 0)
	}
}

// early makes the driver fetch values that no task of the program uses any more, while others
// compute.
func (s *driver) early() {
	for x := range s.program.EarlyFetches() {
		if v := &s.values[x.Datum]; !v.has(0, x.Version) {
			s.nodes[0].fetch(v, x).then = func() {
				if s.values[x.Datum].has(0, x.Version) { // else its source is lost
					s.program.NoteFetched(x)
				}
			}
		}
	}
}

// recall is a message that asks a node to give tasks back.
type recall struct {
	n     *node
	tasks []uint64
	most  int
}

// happens implements [handler].
func (r *recall) happens(uint64) {
	r.n.crew.shares[0].hears(r.n.s.m.Network.Message, func() { r.n.giveBack(r.tasks, r.most) })
}

// NewJob implements [exec.Runtime]. There is one job at a time.
func (s *Cluster) NewJob(ctx context.Context) exec.Job { return s.newJob(ctx, nil, s.program) }

// newJob returns a job: that of by's children if by is not nil.
func (s *driver) newJob(ctx context.Context, by *parent, core *core.Core) *clusterJob {
	j := &clusterJob{s: s, core: core}
	j.begin(s.world, ctx, by, s.clock)
	j.ready = func(tasks []*graph.Task) {
		core.Push(tasks, -1)
		s.place()
	}
	j.ends = func(c *crew, f flight, w int, freed []*graph.Task) []*graph.Task {
		return s.of[c.node].ended(f, w, freed)
	}
	j.aside = func(c *crew, t *graph.Task, freed []*graph.Task) []*graph.Task {
		return s.of[c.node].gate.StepAside(t, freed)
	}
	return j
}

// clusterJob is an [exec.Job] on several nodes.
type clusterJob struct {
	job
	s    *driver
	core *core.Core
}

// Submit implements [exec.Job].
func (j *clusterJob) Submit(spec *graph.Spec) (graph.TaskID, error) {
	spec.Check()
	s := j.s
	if err := j.admit(); err != nil {
		return 0, err
	}
	j.until(max(s.now, s.clock.free))
	for i := range spec.Operands {
		s.datum(j.core, spec.Operands[i].Datum)
	}
	s.clock.works(s.now, s.m.Costs.Driver)
	j.core.Unseal()
	j.core.Submitted(spec)
	t, ready := j.graph.Add(spec)
	j.count++
	id := t.ID()
	if ready {
		j.one[0] = t
		j.ready(j.one[:])
	}
	return id, j.Err()
}

// Wait implements [exec.Job]: it brings values to the program's memory that belong there.
func (j *clusterJob) Wait() error {
	s := j.s
	j.core.Seal()
	s.early()
	j.finish()
	if j.Err() != nil {
		return j.Err()
	}
	home, left := s.nodes[0], 0
	for again := true; again; again = s.lossy && j.Err() == nil && j.core.HaltIfLost() {
		if s.lossy {
			s.recovered(j)
		}
		for x := range j.core.LateFetches() {
			if v := &s.values[x.Datum]; !v.has(0, x.Version) {
				left++
				home.fetch(v, x).then = func() {
					left--
					j.changed()
				}
			}
		}
		j.await(func() bool { return left == 0 })
	}
	j.core.NoteAllHome()
	j.until(home.crew.flush())
	j.core.EndJob()
	s.dropAll()
	return j.Err()
}

// Recording returns the recording so far.
func (s *Cluster) Recording() *trace.Recording {
	r := s.world.Recording()
	for _, c := range s.crews {
		r.Nodes = append(r.Nodes, trace.NodeRows{Name: name(c.slot), First: c.first, Workers: len(c.workers)})
	}
	return r
}
