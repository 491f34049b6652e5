package kernels

import (
	"sync"
	"sync/atomic"

	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/versions"
)

// Packing is an operand in the form in which a version reads it, for several tasks
// with the same operand: the first of them makes it, and the others use it. A task
// does without if its version packs otherwise or not at all, if another one is
// still packing, or if there is no room. Results do not depend on it.
//
// It stands for one state of the operand: all tasks must read what the same task
// has written. [Packing.Init] comes first. Every task counts once: versions that make
// no use of a Packing call [Packing.Done] all the same.
type Packing struct {
	mu     sync.Mutex
	room   *PackingRoom
	coming int // tasks that have not ended
	users  int // those of them that read work
	stage  packingStage
	form   PackingForm
	size   int64
	work   *versions.Workspace
}

// Packings is what tasks share of their operands: see graph.Spec.Local and
// [versions.Call.Local]. The fields may be nil. A version of an op that has packings
// ends them with [Packing.Done] in every call, whether it uses them or not.
type Packings struct {
	A, B *Packing // on the left and on the right of a product; A is also V and T
}

// PackingsOf returns the packings of a call: their fields are nil if it has none.
func PackingsOf(call *versions.Call) Packings {
	if p, ok := call.Local.(*Packings); ok && p != nil {
		return *p
	}
	return Packings{}
}

// PackingForm is what must be the same for a packed operand to be of use. It is
// op(X), Dim×K on the left or K×Dim on the right of a product, or a factor of K
// reflectors of Dim elements in blocks of IB.
type PackingForm struct {
	Routines     any // comparable
	Dim, K, IB   int
	Right, Trans bool
	Trapezoid    bool
}

type packingStage uint8

const (
	unpacked packingStage = iota
	beingPacked
	packed
	unpackable // there was no room, or nobody is to come
)

// Init makes p the Packing of an operand that so many tasks will read, its memory
// out of room.
func (p *Packing) Init(room *PackingRoom, tasks int) { p.room, p.coming = room, tasks }

// PackingRoom bounds the memory of several Packings.
type PackingRoom struct{ left atomic.Int64 }

// NewPackingRoom returns room for so many bytes.
func NewPackingRoom(bytes int64) *PackingRoom {
	r := &PackingRoom{}
	r.left.Store(bytes)
	return r
}

// Left returns how many bytes are left.
func (r *PackingRoom) Left() int64 { return r.left.Load() }

// take takes size bytes and reports whether they were there.
func (r *PackingRoom) take(size int64) bool {
	if r.left.Add(-size) >= 0 {
		return true
	}
	r.left.Add(size)
	return false
}

// workspaces keeps the memory of Packings from one factorization to the next: new
// memory costs as much time as packing does.
var workspaces = sync.Pool{New: func() any { return new(versions.Workspace) }}

// Packed returns the operand of one of the tasks of p in the form given, n elements
// that pack writes, or nil if the task has to do without. p may be nil. The task calls
// [Packing.Done] when it has read them.
func Packed[T Element](p *Packing, form PackingForm, n int, pack func(dst []T)) []T {
	if p == nil {
		return nil
	}
	ok, first := p.begin(form, int64(n)*int64(scalar.Size[T]()))
	if !ok {
		return nil
	}
	x := versions.Scratch[T](p.work, n)
	if first {
		pack(x) // if it panics, all others do without
		p.mu.Lock()
		p.stage = packed
		p.mu.Unlock()
	}
	return x
}

// begin reports whether a task may use what is, or is to be, packed, and whether it
// is the one to pack.
func (p *Packing) begin(form PackingForm, size int64) (ok, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.stage {
	case unpacked:
		if p.coming < 2 || !p.room.take(size) {
			p.stage = unpackable
			return false, false
		}
		p.stage, p.form, p.size = beingPacked, form, size
		p.work = workspaces.Get().(*versions.Workspace)
		p.users++
		return true, true
	case packed:
		if p.form != form {
			return false, false
		}
		p.users++
		return true, false
	}
	return false, false
}

// Release implements [versions.Derived].
func (p *Packing) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming = 0
	p.free()
}

// Coming returns how many of the tasks have not ended.
func (p *Packing) Coming() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.coming
}

// Done says that one of the tasks has ended, and whether [Packed] had anything for it.
// After the last one the memory goes to others. p may be nil.
func (p *Packing) Done(used bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming--
	if used {
		p.users--
	}
	p.free()
}

// free gives the memory to others if nobody will use it. The caller holds mu.
func (p *Packing) free() {
	if p.coming <= 0 && p.users == 0 && p.stage == packed {
		workspaces.Put(p.work)
		p.room.left.Add(p.size)
		p.work, p.stage, p.form = nil, unpackable, PackingForm{}
	}
}
