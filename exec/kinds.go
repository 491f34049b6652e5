package exec

import (
	"errors"
	"reflect"
	"slices"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// kinds are the kinds of worker that a runtime has: those with equal targets are alike.
type kinds struct {
	targets []*versions.Target // of kinds; those of hosts come first
	hosts   int                // how many are theirs
	of      []int              // the kind of each worker
	// able has, for ops, the kinds that can run them. Local.mu guards it.
	able map[*versions.Op]uint64
}

// newKinds returns the kinds of the runtime's workers.
func (l *Local) newKinds() (k kinds) {
	k.able = map[*versions.Op]uint64{}
	for i, w := range l.workers {
		of := slices.IndexFunc(k.targets, func(on *versions.Target) bool { return reflect.DeepEqual(on, w.info.Target) })
		if of < 0 {
			of = len(k.targets)
			k.targets = append(k.targets, w.info.Target)
		}
		if k.of = append(k.of, of); i < l.hosts {
			k.hosts = of + 1
		}
	}
	return k
}

// newPolicy returns the policy that the options ask for, for workers that are there.
// Expected times say who cannot run a task; other policies need not know.
func (l *Local) newPolicy() dispatch.Policy {
	m := dispatch.Machine{Accelerators: len(l.devices), Costs: &costs{rt: l}}
	for _, w := range l.workers {
		m.Locations = append(m.Locations, w.info.Location)
	}
	l.far = m.Places() > 1
	build := l.opt.NewPolicy
	if build == nil {
		build = func(m dispatch.Machine) dispatch.Policy { return dispatch.New(l.opt.Policy, m) }
	}
	if n := len(l.kinds.targets); l.opt.Policy == dispatch.EarliestFinish || l.kinds.hosts == 1 && n <= 2 || n > 64 {
		return build(m)
	}
	l.sorted = true
	return dispatch.ByKind(m, l.kinds.of, l.able, build)
}

// able returns the kinds that can run t, a bit for each. The caller holds mu.
func (l *Local) able(t *graph.Task) (able uint64) {
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return 0
	}
	able, known := l.kinds.able[op]
	if !known || t.Constraints() != nil {
		able = 0
		for i, on := range l.kinds.targets {
			if l.unfit(t, on) == nil {
				able |= 1 << i
			}
		}
		if t.Constraints() == nil {
			l.kinds.able[op] = able
		}
	}
	for kind := l.kinds.hosts; kind < len(l.kinds.targets); kind++ {
		if !slices.ContainsFunc(l.devices, func(d *device) bool { return l.kinds.of[d.info.ID] == kind && !d.lost.Load() }) {
			able &^= 1 << kind
		}
	}
	return able
}

// unfit returns why no worker with that target can run t; nil if one can, as far as
// the target says.
func (l *Local) unfit(t *graph.Task, on *versions.Target) error {
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return nil // it fails wherever it runs
	}
	if err := l.selector.Check(op, on); err != nil {
		return err
	}
	c, _ := t.Constraints().(*versions.Constraints)
	return c.Admit(op, on)
}

// hostFit reports whether a worker on cores can run t.
func (l *Local) hostFit(t *graph.Task) bool {
	return slices.ContainsFunc(l.kinds.targets[:l.kinds.hosts], func(on *versions.Target) bool { return l.unfit(t, on) == nil })
}

// passOn gives a task that w, a host, has taken and cannot execute to a worker that
// can, if there is one.
func (l *Local) passOn(t *graph.Task, w *worker) bool {
	return l.unfit(t, w.info.Target) != nil && (l.redirect(t, w) || l.elsewhere(t))
}

// nobody returns why no worker can execute t.
func (l *Local) nobody(t *graph.Task) error {
	var all []error
	for _, on := range l.kinds.targets[:l.kinds.hosts] {
		all = append(all, l.unfit(t, on))
	}
	for _, d := range l.devices {
		all = append(all, d.accepts(t))
	}
	return errors.Join(all...)
}

// checkConstraints panics with ErrConstraints for constraints that are none, and
// returns why no worker can ever meet those of s; nil if one can. What an op asks for
// is found out when it is to run.
func (j *job) checkConstraints(s *graph.Spec) error {
	if s.Constraints == nil {
		return nil
	}
	c, ok := s.Constraints.(*versions.Constraints)
	if !ok {
		panic(ErrConstraints)
	}
	op, _ := s.Op.(*versions.Op)
	var all []error
	for _, on := range j.rt.kinds.targets {
		err := c.Admit(op, on)
		if err == nil {
			return nil
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// ErrConstraints is the panic of [Job.Submit] for a task whose constraints are no
// *versions.Constraints.
const ErrConstraints graph.Error = "exec: the constraints of a task must be a *versions.Constraints"

// near reports whether b can take part in a task of a: it is alike, and has the same
// memory near.
func near(a, b *Worker) bool { return a.Node == b.Node && a.Target == b.Target }
