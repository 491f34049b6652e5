package exec

import (
	"errors"
	"reflect"
	"slices"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/exec/offload"
	"github.com/tessera-la/tessera/versions"
)

// kinds are the kinds of worker that a runtime has: those with equal targets are alike.
// They say who can run a task.
//
// Whether a worker can is a question of three parts, each with a place of its own. Does
// its target meet what a version of the op asks for, and the task's own constraints:
// unfit. Do the operands have room on a device, which is not lost: offload.Device. Is
// there enough memory now: memory, when the task is about to run.
type kinds struct {
	selector *versions.Selector
	devices  offload.Devices
	targets  []*versions.Target // of kinds; those of workers on cores come first
	hosts    int                // how many are theirs
	of       []int              // the kind of each worker
	sorted   bool               // the policy gives each kind what it can run
	// able has, for ops, the kinds that can run them. The scheduler's lock guards it.
	able map[*versions.Op]uint64
}

// newKinds returns the kinds of workers, of which so many, the first ones, are on cores,
// and the others those of devices. No kind has both: devices have targets of other kinds.
func newKinds(s *versions.Selector, workers []Worker, hosts int, devices offload.Devices) kinds {
	k := kinds{selector: s, devices: devices, able: map[*versions.Op]uint64{}}
	for i := range workers {
		// Targets that a program has made twice are equal, and not the same.
		of := slices.IndexFunc(k.targets, func(on *versions.Target) bool { return reflect.DeepEqual(on, workers[i].Target) })
		if of < 0 {
			of = len(k.targets)
			k.targets = append(k.targets, workers[i].Target)
		}
		if k.of = append(k.of, of); i < hosts {
			k.hosts = of + 1
		}
	}
	return k
}

// policy returns the policy that the options ask for, and the number of locations.
// Expected times say who cannot run a task; other policies need not know.
func (k *kinds) policy(opt *Options, workers []Worker, fixed graph.Locations) (dispatch.Policy, int) {
	costs := &dispatch.Expected{Selector: k.selector, Fixed: fixed, Hosts: len(workers) - len(k.devices)}
	if k.devices != nil {
		costs.Devices = k.devices
	}
	m := dispatch.Machine{Accelerators: len(k.devices), Costs: costs}
	for i := range workers {
		m.Locations = append(m.Locations, workers[i].Location)
		costs.Targets = append(costs.Targets, workers[i].Target)
	}
	costs.Locations = m.Locations
	build := opt.NewPolicy
	if build == nil {
		build = func(m dispatch.Machine) dispatch.Policy { return dispatch.New(opt.Policy, m) }
	}
	// One kind on cores, alone or with one kind of device: a worker that takes what it
	// cannot run hands it on, and that is rare. With more kinds a policy for each set of
	// them is cheaper. Their numbers are bits of a word, hence 64.
	if n := len(k.targets); opt.Policy == dispatch.EarliestFinish || k.hosts == 1 && n <= 2 || n > 64 {
		return build(m), m.Places()
	}
	k.sorted = true
	return dispatch.ByKind(m, k.of, k.can, build), m.Places()
}

// can returns the kinds that can run t, a bit for each; none if nobody can, or if the op is
// none of ours: then any worker takes the task, and says what is wrong. The caller holds
// the scheduler's lock.
func (k *kinds) can(t *graph.Task) (able uint64) {
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return 0
	}
	// Versions are not added to an op that runs, and targets do not change: what is
	// found once stays, but for tasks that ask for something themselves.
	able, known := k.able[op]
	if !known || t.Constraints() != nil {
		able = 0
		for i, on := range k.targets {
			if k.unfit(t, on) == nil {
				able |= 1 << i
			}
		}
		if t.Constraints() == nil {
			k.able[op] = able
		}
	}
	// A kind of device all of whose devices are lost can run nothing any more.
	first := len(k.of) - len(k.devices) // the number of the first device's worker
	for kind := k.hosts; kind < len(k.targets); kind++ {
		if !slices.ContainsFunc(k.devices, func(d *offload.Device) bool { return !d.Gone() && k.of[first+slices.Index(k.devices, d)] == kind }) {
			able &^= 1 << kind
		}
	}
	return able
}

// unfit returns why no worker with that target can run t; nil if one can, as far as
// the target says. It is cheap for an op that was asked for before: the selector keeps
// which versions a target can run.
func (k *kinds) unfit(t *graph.Task, on *versions.Target) error {
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return nil // it fails wherever it runs
	}
	if err := k.selector.Check(op, on); err != nil {
		return err
	}
	c, _ := t.Constraints().(*versions.Constraints)
	return c.Admit(op, on)
}

// hostFit reports whether a worker on cores can run t: what a device refuses goes there.
func (k *kinds) hostFit(t *graph.Task) bool {
	return slices.ContainsFunc(k.targets[:k.hosts], func(on *versions.Target) bool { return k.unfit(t, on) == nil })
}

// nobody returns why no worker can execute t: the reason of each kind of worker on cores,
// and of each device.
func (k *kinds) nobody(t *graph.Task) error {
	var all []error
	for _, on := range k.targets[:k.hosts] {
		all = append(all, k.unfit(t, on))
	}
	for _, d := range k.devices {
		all = append(all, d.Accepts(t))
	}
	return errors.Join(all...)
}

// admits panics with ErrConstraints for constraints that are none, and returns why no
// worker can ever meet those of s; nil if one can. What an op asks for is found out when
// it is to run.
func (k *kinds) admits(s *graph.Spec) error {
	if s.Constraints == nil {
		return nil
	}
	c, ok := s.Constraints.(*versions.Constraints)
	if !ok {
		panic(ErrConstraints)
	}
	op, _ := s.Op.(*versions.Op)
	var all []error
	for _, on := range k.targets {
		err := c.Admit(op, on)
		if err == nil {
			return nil
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}
