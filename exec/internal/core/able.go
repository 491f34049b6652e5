package core

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tessera-la/tessera/versions"
)

// Offer is what a node can execute: which ops on which of its workers. Those of another node
// are as it has said when it greeted, and its selector is its own; here is only what that
// leaves.
type Offer struct {
	Kinds    []Kind
	Lacks    []map[string][]string // by kind: why it has no version of an op
	Ops      map[string]bool       // that the node knows
	Below    Below                 // the nodes below it, which execute children of tasks
	Selector *versions.Selector    // of this node, which is asked itself: the program may have ops that others do not know
}

// Kind is workers of a node that are alike.
type Kind struct {
	Workers int
	Target  versions.Target
	// Accelerator is the name of the first one, empty for workers on cores.
	Accelerator string
}

// OpNone is the op of a task that does nothing, as any node can: the node is to have its
// operands, under other names than those who have them.
const OpNone = ""

// limits of what a node says of itself.
const (
	MostWorkers = 1 << 14
	mostBelow   = 1 << 60 // bytes of all nodes below it: the sum of a few such is none below 0
)

// Below is the sums of what the nodes below one have, and those below these. On the wire it is
// an array.
type Below struct {
	_              struct{} `cbor:",toarray"`
	Nodes, Workers int
	Memory         int64 // as Usage.BelowMemory
}

// With returns the sums with those of a node that has so many workers and such a cap.
func (b Below) With(workers int, memory int64, of Below) Below {
	sum := Below{Nodes: b.Nodes + 1 + of.Nodes, Workers: b.Workers + workers + of.Workers}
	if (b.Nodes == 0 || b.Memory > 0) && memory > 0 && (of.Nodes == 0 || of.Memory > 0) {
		sum.Memory = min(b.Memory+min(memory, mostBelow)+of.Memory, mostBelow)
	}
	return sum
}

// Check returns what makes no sense in what a node says of those below it.
func (b *Below) Check() error {
	if b.Nodes < 0 || b.Nodes > MostWorkers || b.Workers < b.Nodes || b.Workers > MostWorkers<<10 || b.Memory < 0 || b.Memory > mostBelow {
		return fmt.Errorf("%d nodes below it, with %d workers and %d bytes of memory", b.Nodes, b.Workers, b.Memory)
	}
	return nil
}

// Workers returns the number of all workers.
func (o *Offer) Workers() (n int) {
	for i := range o.Kinds {
		n += o.Kinds[i].Workers
	}
	return n
}

// Unmet returns why the node cannot execute a task of op that asks for c, nil if it can: for
// each kind of its workers a *versions.NoVersionError.
func (o *Offer) Unmet(op *versions.Op, c *versions.Constraints) error {
	name := op.OpName()
	if name == OpNone {
		return nil
	}
	if o.Selector == nil && !o.Ops[name] {
		return fmt.Errorf("op %s is not known there", name)
	}
	var all []error
	for i := range o.Kinds {
		on := &o.Kinds[i].Target
		var err error
		if o.Selector != nil {
			err = o.Selector.Check(op, on)
		} else if why, lacks := o.Lacks[i][name]; lacks {
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
func (o *Offer) like(p *Offer) bool {
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
	return reflect.DeepEqual(o.Ops, p.Ops) && reflect.DeepEqual(o.Lacks, p.Lacks) && reflect.DeepEqual(plain(o.Kinds), plain(p.Kinds))
}
