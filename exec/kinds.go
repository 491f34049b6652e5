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

// kinds are the kinds of worker of a runtime: workers with equal targets are of one kind. They
// decide which workers can run a task.
//
// That question has three parts:
//
//   - Does the target of the worker meet the constraints of the task and of a version of its op? See
//     unfit.
//   - Do the operands fit into a device that is not lost? See offload.Device.
//   - Is enough memory free now? See memory, which is asked when the task is about to run.
type kinds struct {
	selector *versions.Selector
	devices  offload.Devices
	targets  []*versions.Target // by kind; those of workers on cores come first
	hosts    int                // number of kinds on cores
	of       []int              // the kind of each worker
	sorted   bool               // the policy gives each kind only tasks that it can run
	// able maps an op to the kinds that can run it, a bit each. The scheduler's lock guards it.
	able map[*versions.Op]uint64
}

// newKinds returns the kinds of workers. The first hosts workers are on cores, the others are those
// of devices. No kind has both, since the targets of devices are of other kinds.
func newKinds(s *versions.Selector, workers []Worker, hosts int, devices offload.Devices) kinds {
	k := kinds{selector: s, devices: devices, able: map[*versions.Op]uint64{}}
	for i := range workers {
		// A program may have made equal targets twice.
		kind := slices.IndexFunc(k.targets, func(on *versions.Target) bool {
			return reflect.DeepEqual(on, workers[i].Target)
		})
		if kind < 0 {
			kind = len(k.targets)
			k.targets = append(k.targets, workers[i].Target)
		}
		if k.of = append(k.of, kind); i < hosts {
			k.hosts = kind + 1
		}
	}
	return k
}

// policy returns the policy that the options ask for, and the number of locations. Only a policy by
// expected times asks which workers can run a task.
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
	// With one kind on cores, alone or beside one kind of device, a worker seldom takes a task that
	// it cannot run, and hands it on. With more kinds a policy for each set of kinds is cheaper. A
	// set is the bits of a word, hence 64.
	if n := len(k.targets); opt.Policy == dispatch.EarliestFinish || k.hosts == 1 && n <= 2 || n > 64 {
		return build(m), m.Places()
	}
	k.sorted = true
	return dispatch.ByKind(m, k.of, k.can, build), m.Places()
}

// places returns the place of each worker on cores, and the list of tasks that wait for several workers of one.
func (k *kinds) places(workers []Worker) (of []int, wide dispatch.Wide) {
	var first, sizes, kinds []int // of each place
	for i := range workers {
		p := slices.IndexFunc(first, func(f int) bool { return near(&workers[f], &workers[i]) })
		if p < 0 {
			p = len(first)
			first, sizes, kinds = append(first, i), append(sizes, 0), append(kinds, k.of[i])
		}
		sizes[p]++
		of = append(of, p)
	}
	return of, dispatch.NewWide(sizes, kinds)
}

// can returns the kinds that can run t, a bit each. It returns 0 if no kind can, or if the op is no
// *versions.Op: then any worker takes the task and reports the error. The caller holds the
// scheduler's lock.
func (k *kinds) can(t *graph.Task) (able uint64) {
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return 0
	}
	// An op that runs gets no more versions, and targets do not change. So the answer is kept,
	// except for tasks with constraints of their own.
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
	// A kind whose devices are all lost can run nothing any more.
	first := len(k.of) - len(k.devices) // the number of the first device's worker
	for kind := k.hosts; kind < len(k.targets); kind++ {
		if !slices.ContainsFunc(k.devices, func(d *offload.Device) bool {
			return !d.Gone() &&
				k.of[first+slices.Index(k.devices, d)] == kind
		}) {
			able &^= 1 << kind
		}
	}
	return able
}

// unfit returns why no worker with the target on can run t, nil if the target allows it. It is
// cheap for an op that was asked for before: the selector remembers which versions a target can
// run.
func (k *kinds) unfit(t *graph.Task, on *versions.Target) error {
	op, ok := t.Op.(*versions.Op)
	if !ok {
		return nil // it fails on every worker
	}
	if err := k.selector.Check(op, on); err != nil {
		return err
	}
	c, _ := t.Constraints().(*versions.Constraints)
	return c.Admit(op, on)
}

// hostFit reports whether a worker on cores can run t.
func (k *kinds) hostFit(t *graph.Task) bool {
	return slices.ContainsFunc(k.targets[:k.hosts], func(on *versions.Target) bool { return k.unfit(t, on) == nil })
}

// whyNone returns why no worker can execute t: the reasons of all kinds on cores and of all devices.
func (k *kinds) whyNone(t *graph.Task) error {
	var all []error
	for _, on := range k.targets[:k.hosts] {
		all = append(all, k.unfit(t, on))
	}
	for _, d := range k.devices {
		all = append(all, d.Accepts(t))
	}
	return errors.Join(all...)
}

// admits returns why no worker can ever meet the constraints of s, nil if one can. It panics with
// ErrConstraints if they are no *versions.Constraints. The constraints of the versions of the op are
// examined later, when the task is about to run.
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
