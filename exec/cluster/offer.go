package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// offer is what a node can execute: which ops on which of its workers. Those of another node
// are as it has said when it greeted, and its selector is its own; here is only what that
// leaves.
type offer struct {
	kinds    []Kind
	lacks    []map[string][]string // by kind: why it has no version of an op
	ops      map[string]bool       // that the node knows
	below    below                 // the nodes below it, which execute children of tasks
	selector *versions.Selector    // of this node, which is asked itself: the program may have ops that others do not know
}

// Kind is workers of a node that are alike.
type Kind struct {
	Workers int
	Target  versions.Target
	// Accelerator is the name of the first one, empty for workers on cores.
	Accelerator string
}

// offered is an offer on the wire.
type offered struct {
	_     struct{} `cbor:",toarray"`
	Ops   []string // all that the node knows
	Kinds []kindOffered
}

type kindOffered struct {
	_ struct{} `cbor:",toarray"`
	Kind
	Lacks []lack
}

// lack is ops, by their numbers, that a kind of worker cannot execute, for the same reasons:
// those of their versions.
type lack struct {
	_   struct{} `cbor:",toarray"`
	Ops []int
	Why []string
}

// opNone is the op of a task that does nothing, as any node can: the node is to have its
// operands, under other names than those who have them.
const opNone = ""

// limits of what a node says of itself.
const (
	mostWorkers = 1 << 14
	mostKinds   = 256
	mostOps     = 1 << 13
	mostBelow   = 1 << 60 // bytes of all nodes below it: the sum of a few such is none below 0
)

// below is the sums of what the nodes below one have, and those below these. On the wire it is
// an array.
type below struct {
	_              struct{} `cbor:",toarray"`
	Nodes, Workers int
	Memory         int64 // as Usage.BelowMemory
}

// with returns the sums with those of a node that has so many workers and such a cap.
func (b below) with(workers int, memory int64, of below) below {
	sum := below{Nodes: b.Nodes + 1 + of.Nodes, Workers: b.Workers + workers + of.Workers}
	if (b.Nodes == 0 || b.Memory > 0) && memory > 0 && (of.Nodes == 0 || of.Memory > 0) {
		sum.Memory = min(b.Memory+min(memory, mostBelow)+of.Memory, mostBelow)
	}
	return sum
}

// check returns what makes no sense in what a node says of those below it.
func (b *below) check() error {
	if b.Nodes < 0 || b.Nodes > mostWorkers || b.Workers < b.Nodes || b.Workers > mostWorkers<<10 || b.Memory < 0 || b.Memory > mostBelow {
		return fmt.Errorf("%d nodes below it, with %d workers and %d bytes of memory", b.Nodes, b.Workers, b.Memory)
	}
	return nil
}

// kindsOf returns the kinds of a runtime's workers.
func kindsOf(workers []exec.Worker) (all []Kind) {
	for _, w := range workers {
		i := slices.IndexFunc(all, func(k Kind) bool {
			return (k.Accelerator == "") == (w.Accelerator == "") && reflect.DeepEqual(&k.Target, w.Target)
		})
		if i < 0 {
			i, all = len(all), append(all, Kind{Target: *w.Target, Accelerator: w.Accelerator})
		}
		all[i].Workers++
	}
	return all
}

// tellOf returns what a node with these ops and this runtime says of itself.
func tellOf(ops []*versions.Op, rt exec.Runtime) (m offered) {
	for _, op := range ops {
		m.Ops = append(m.Ops, op.OpName())
	}
	for _, kind := range kindsOf(rt.Workers()) {
		k := kindOffered{Kind: kind}
		same := map[string]int{}
		for n, op := range ops {
			err := rt.Selector().Check(op, &kind.Target)
			if err == nil {
				continue
			}
			why := []string{err.Error()}
			if none := (*versions.NoVersionError)(nil); errors.As(err, &none) {
				why = none.Reasons
			}
			key := strings.Join(why, "\n")
			at, ok := same[key]
			if !ok {
				at = len(k.Lacks)
				same[key], k.Lacks = at, append(k.Lacks, lack{Why: why})
			}
			k.Lacks[at].Ops = append(k.Lacks[at].Ops, n)
		}
		m.Kinds = append(m.Kinds, k)
	}
	return m
}

// offer returns what a node has said, or what is wrong with it.
func (m *offered) offer() (*offer, error) {
	if len(m.Kinds) == 0 || len(m.Kinds) > mostKinds || len(m.Ops) > mostOps {
		return nil, fmt.Errorf("%d kinds of workers, and %d ops", len(m.Kinds), len(m.Ops))
	}
	o := &offer{ops: map[string]bool{}}
	for _, name := range m.Ops {
		o.ops[name] = true
	}
	for _, k := range m.Kinds {
		if t := &k.Target; k.Workers < 1 || k.Workers > mostWorkers || t.Units < 0 || t.Memory < 0 {
			return nil, fmt.Errorf("%d workers of %d units and %d bytes of memory", k.Workers, t.Units, t.Memory)
		}
		lacks := map[string][]string{}
		for _, l := range k.Lacks {
			for _, n := range l.Ops {
				if n < 0 || n >= len(m.Ops) {
					return nil, fmt.Errorf("op %d of %d", n, len(m.Ops))
				}
				lacks[m.Ops[n]] = l.Why
			}
		}
		o.kinds, o.lacks = append(o.kinds, k.Kind), append(o.lacks, lacks)
	}
	if n := o.workers(); n > mostWorkers {
		return nil, fmt.Errorf("%d workers", n)
	}
	return o, nil
}

// workers returns the number of all workers.
func (o *offer) workers() (n int) {
	for i := range o.kinds {
		n += o.kinds[i].Workers
	}
	return n
}

// ownOffer returns what this node can execute.
func ownOffer(ops []*versions.Op, rt exec.Runtime) *offer {
	told := tellOf(ops, rt)
	o, err := told.offer()
	if err != nil {
		panic(err) // the options were checked
	}
	o.selector = rt.Selector()
	return o
}

// unmet returns why the node cannot execute a task of op that asks for c, nil if it can: for
// each kind of its workers a *versions.NoVersionError.
func (o *offer) unmet(op *versions.Op, c *versions.Constraints) error {
	name := op.OpName()
	if name == opNone {
		return nil
	}
	if o.selector == nil && !o.ops[name] {
		return fmt.Errorf("op %s is not known there", name)
	}
	var all []error
	for i := range o.kinds {
		on := &o.kinds[i].Target
		var err error
		if o.selector != nil {
			err = o.selector.Check(op, on)
		} else if why, lacks := o.lacks[i][name]; lacks {
			err = &versions.NoVersionError{Op: name, Target: on.String(), Reasons: why}
		}
		if err == nil {
			err = c.Admit(op, on)
		}
		if err == nil {
			return nil
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

// like reports whether two nodes can execute the same tasks, but for their workers' memory,
// which is hardly ever the same.
func (o *offer) like(p *offer) bool {
	if o == p {
		return true
	}
	plain := func(all []Kind) (k []Kind) {
		for _, x := range all {
			x.Workers, x.Target.Memory, x.Accelerator = 0, 0, ""
			k = append(k, x)
		}
		return k
	}
	return reflect.DeepEqual(o.ops, p.ops) && reflect.DeepEqual(o.lacks, p.lacks) && reflect.DeepEqual(plain(o.kinds), plain(p.kinds))
}
