package kernels

import (
	"maps"
	"slices"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/versions"
)

// Type is an element type of tiles.
type Type = scalar.Type

// Table lists for each element type and op the versions that this build carries. op.NewTable
// makes it. It may be added to by [Table.Add], and is read-only from the first use of one of its
// ops on; it is then safe for concurrent use.
type Table struct {
	of map[Type]*ops
}

// ops is the ops on tiles of one type, in their order and by name.
type ops struct {
	all  []*versions.Op
	name map[string]*versions.Op
}

// MakeTable returns a table of the ops given for each element type. It panics with ErrVersion if
// two of a type have one name.
func MakeTable(all map[Type][]*versions.Op) *Table {
	t := &Table{make(map[Type]*ops, len(all))}
	for typ, list := range all {
		o := &ops{slices.Clone(list), make(map[string]*versions.Op, len(list))}
		for _, op := range list {
			if o.name[op.Name] != nil {
				panic(ErrVersion)
			}
			o.name[op.Name] = op
		}
		t.of[typ] = o
	}
	return t
}

// Ops is the ops of a table on tiles of T, which belong to the table. The zero value has none.
type Ops[T Element] struct{ *ops }

// For returns the ops of t on tiles of T.
func For[T Element](t *Table) Ops[T] { return Ops[T]{t.of[scalar.Of[T]()]} }

// All returns the ops in their order.
func (o Ops[T]) All() []*versions.Op {
	if o.ops == nil {
		return nil
	}
	return slices.Clone(o.all)
}

// Op returns the op called name ("gemm"), or nil if there is none. A caller with many tasks asks
// once.
func (o Ops[T]) Op(name string) *versions.Op {
	if o.ops == nil {
		return nil
	}
	return o.name[name]
}

// All returns all ops of t, those of one element type after the other, in the order of the types.
func (t *Table) All() (all []*versions.Op) {
	for _, typ := range slices.Sorted(maps.Keys(t.of)) {
		all = append(all, t.of[typ].all...)
	}
	return all
}

// Op returns the op called name ("gemm") on tiles of typ ("f32" or "f64"), or
// nil if there is none.
func (t *Table) Op(name, typ string) *versions.Op {
	for _, op := range t.All() {
		if op.Name == name && op.Type == typ {
			return op
		}
	}
	return nil
}

// Add makes v the most preferred version of op, one of t's. It must not be
// called once the op is in use. It panics with ErrVersion if op is not one of
// t's, v has no name or function, or op has a version of that name already.
func (t *Table) Add(op *versions.Op, v versions.Version) {
	if !slices.Contains(t.All(), op) || v.Name == "" || v.Run == nil || op.Version(v.Name) != nil {
		panic(ErrVersion)
	}
	op.Versions = slices.Insert(op.Versions, 0, v)
}
