package cluster

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/internal/core"
	"github.com/tessera-la/tessera/versions"
)

// Kind is a number of equal workers of a node: Workers is the number, Target their versions.Target,
// and Accelerator the name of the first accelerator, empty for workers on cores.
type Kind = core.Kind

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

// lack is ops, by index, that a kind of worker cannot execute for the same reasons.
type lack struct {
	_   struct{} `cbor:",toarray"`
	Ops []int
	Why []string
}

// Limits of what a node may say of itself.
const (
	maxKinds = 256
	maxOps   = 1 << 13
)

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

// offeredBy returns the offer of a node with some ops and a runtime, for the wire.
func offeredBy(ops []*versions.Op, rt exec.Runtime) (m offered) {
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

// offer returns what a node offers, or what is wrong with its message.
func (m *offered) offer() (*core.Offer, error) {
	if len(m.Kinds) == 0 || len(m.Kinds) > maxKinds || len(m.Ops) > maxOps {
		return nil, fmt.Errorf("%d kinds of workers, and %d ops", len(m.Kinds), len(m.Ops))
	}
	o := &core.Offer{Ops: map[string]bool{}}
	for _, name := range m.Ops {
		o.Ops[name] = true
	}
	for _, k := range m.Kinds {
		if t := &k.Target; k.Workers < 1 || k.Workers > core.MaxWorkers || t.Units < 0 || t.Memory < 0 {
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
		o.Kinds, o.Missing = append(o.Kinds, k.Kind), append(o.Missing, lacks)
	}
	if n := o.Workers(); n > core.MaxWorkers {
		return nil, fmt.Errorf("%d workers", n)
	}
	return o, nil
}

// ownOffer returns what this node can execute.
func ownOffer(ops []*versions.Op, rt exec.Runtime) *core.Offer {
	told := offeredBy(ops, rt)
	o, err := told.offer()
	if err != nil {
		panic(err) // Options.check has seen to it
	}
	o.Selector = rt.Selector()
	return o
}
