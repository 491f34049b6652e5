package core

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/tessera-la/tessera/versions"
)

// Offer is what a node can execute: which ops, on which of its workers. An agent sends its offer in
// its greeting. The driver's own offer has its selector.
type Offer struct {
	Kinds    []Kind
	Missing  []map[string][]string // by kind: why it has no version of an op
	Ops      map[string]bool       // those that the node knows
	Below    Below                 // the nodes below it, which execute children of its tasks
	Selector *versions.Selector    // the driver's own, which also knows ops that other nodes do not; nil for agents
}

// Kind is a number of equal workers of a node.
type Kind struct {
	Workers int
	Target  versions.Target
	// Accelerator is the name of the first one, empty for workers on cores.
	Accelerator string
}

// OpNone is the op of a task that does nothing. Any node can execute it. The node then has copies
// of the operands under its own names.
const OpNone = ""

// Limits of what a node may say of itself.
const (
	MaxWorkers = 1 << 14
	maxBelow   = 1 << 60 // bytes of all nodes below a node; a few of these do not overflow when added
)

// Below sums up the nodes below a node, at any depth. On the wire it is an array.
type Below struct {
	_              struct{} `cbor:",toarray"`
	Nodes, Workers int
	Memory         int64 // sum of their caps, 0 if one has none
}

// With returns the sums plus a node with workers and a cap, and the nodes below that.
func (b Below) With(workers int, memory int64, of Below) Below {
	sum := Below{Nodes: b.Nodes + 1 + of.Nodes, Workers: b.Workers + workers + of.Workers}
	if (b.Nodes == 0 || b.Memory > 0) && memory > 0 && (of.Nodes == 0 || of.Memory > 0) {
		sum.Memory = min(b.Memory+min(memory, maxBelow)+of.Memory, maxBelow)
	}
	return sum
}

// Check returns what is impossible in the sums of a message.
func (b *Below) Check() error {
	if b.Nodes < 0 || b.Nodes > MaxWorkers || b.Workers < b.Nodes || b.Workers > MaxWorkers<<10 ||
		b.Memory < 0 || b.Memory > maxBelow {
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

// Unmet returns why the node cannot execute a task of op with constraints c, nil if it can. The
// error joins a *versions.NoVersionError for each kind of worker.
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
		} else if why, lacks := o.Missing[i][name]; lacks {
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

// isLike reports whether two nodes can execute the same tasks, apart from their workers' memory,
// which hardly ever is the same.
func (o *Offer) isLike(p *Offer) bool {
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
	return reflect.DeepEqual(o.Ops, p.Ops) && reflect.DeepEqual(o.Missing, p.Missing) &&
		reflect.DeepEqual(plain(o.Kinds), plain(p.Kinds))
}
