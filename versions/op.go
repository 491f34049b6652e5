package versions

import (
	"cmp"
	"context"
	"strings"
	"unsafe"

	"github.com/tessera-la/tessera/internal/pages"
)

// Op is an operation that tasks ask for, with its versions. One Op exists per
// operation and element type. An Op is read-only once the first task that
// uses it has been submitted, and is then safe for concurrent use.
type Op struct {
	// Name is the operation's field name in lower case: "gemm", "potrf".
	Name string
	// Type is the element type: "f32" or "f64"; empty if it has none.
	Type string
	// Versions in order of preference: the first eligible one is taken where
	// nothing was measured.
	Versions []Version
	// Work estimates the work of a call, for linear algebra the floating
	// point operations. It decides the size class, and expected time is
	// proportional to it inside a class. Nil means every call is one unit.
	Work func(*Call) float64
	// Thin reports whether a call has so few rows or columns somewhere that its time depends on the
	// memory that it reads, and not on its work. Such calls have size classes of their own. Nil
	// means that none is thin.
	Thin func(*Call) bool
	// NewParams returns a new parameter of the op, with every field zero, by
	// pointer: a struct of plain data. Nil means that the op takes none.
	NewParams func() any
	// Derive, if not nil, returns Call.Local for a task on a node that has versions of operands
	// which many tasks read. of returns the value that all readers of an operand's version share in
	// a role; fresh makes it for the first of them. Derive may return nil.
	Derive func(args []any, of func(operand, role int, fresh func() Derived) Derived) any
	// Bound says that calls of the op use something that only this process has, the source of a
	// matrix, say: its tasks are never sent to another process.
	Bound bool
}

// Derived is a value that tasks derive from a version of an operand and share with its other
// readers. Release says that no further reader comes: its memory goes when the last one ends.
type Derived interface{ Release() }

// OpName returns the operation's name with its type, as in "gemm/f64". It
// makes *Op a graph.Op.
func (o *Op) OpName() string {
	if o.Type == "" {
		return o.Name
	}
	return o.Name + "/" + o.Type
}

// Version returns the version called name, or nil.
func (o *Op) Version(name string) *Version {
	for i := range o.Versions {
		if o.Versions[i].Name == name {
			return &o.Versions[i]
		}
	}
	return nil
}

// Version is one way to execute an Op.
type Version struct {
	// Name identifies the version among those of its Op: "go", "openblas".
	Name string
	// Constraints that a worker must meet to run it.
	Constraints Constraints
	// Help returns the number of computing units that a call can use if other workers have nothing
	// else to do, and whether these stay until the call ends, like units that the constraints ask
	// for. Helpers that do not stay take parts of the call ([Gang.Do]) and leave when a task is
	// ready for them; a version with several units gets none of these. Nil, or a number not larger
	// than the units, means no help. It gets the arguments of Run.
	Help func(*Call) (units int, stay bool)
	// Run executes the call. It must not start goroutines or threads and may
	// keep nothing of the call after it returns. An error fails the task.
	Run func(*Call) error
	// Memory returns the bytes of the worker's memory that a call needs beside
	// its operands and beside what Constraints.Memory says; nil means none. It
	// panics as Run does if the call is not the op's.
	Memory func(*Call) int64
	// Batch executes several small calls as one; nil if the version cannot.
	Batch *Batch
}

// Batch executes several calls of a version at once on an accelerator, where each
// of them is too short to be worth a start of its own. The calls do not depend on
// one another.
type Batch struct {
	// Key returns a comparable value: calls with equal keys may be executed together. It is nil for
	// a call that must be executed alone. It gets Run's argument without Device, Work and Gang, and
	// may panic like Run.
	Key func(*Call) any
	// Run executes all calls, at least two. If it returns an error, it has not touched the calls'
	// outputs, nor will it: each call can be executed alone.
	Run func([]*Call) error
}

// Beside returns the bytes of the worker's memory that a call needs beside its
// operands.
func (v *Version) Beside(call *Call) int64 {
	n := v.Constraints.Memory
	if v.Memory != nil {
		n += v.Memory(call)
	}
	return n
}

// excludes returns why a worker must not execute an op by its Ops, "" if it may.
func (t *Target) excludes(op *Op) string {
	for _, name := range t.Ops {
		if name == op.Name || name == op.OpName() {
			return ""
		}
	}
	if t.Ops == nil {
		return ""
	}
	return "this worker is for " + cmp.Or(strings.Join(t.Ops, ", "), "nothing")
}

// Call is one execution of an Op: what a version's Run receives.
type Call struct {
	// Ctx is cancelled when the task's time-out passes or its job is
	// cancelled. It is never nil inside Run.
	Ctx context.Context
	// Params is the op's parameter struct, by pointer, as the op documents;
	// it is shared between tasks and must not be written.
	Params any
	// Local is shared by tasks of this process and never sent: packed operands, say. Results do not
	// depend on it, and it may be nil.
	Local any
	// Args holds the operands in the op's order: the values of the task's
	// data. The slice belongs to the worker; its elements to the task.
	Args []any
	// Work is the worker's scratch memory.
	Work *Workspace
	// Gang is the computing units of a call that has several: see Constraints.Units and
	// Version.Help. It is nil for other calls, and may be nil if there is only one unit.
	Gang Gang
	// Budget is the time that the call's job may lose by exploring versions; nil means none.
	Budget *Budget
	// Task is the runtime's handle on the task that the call belongs to; nil
	// outside of tasks.
	Task Task
	// Device is an accelerator's handle for versions of its kind, with their operands and the
	// stream for their work: a *cuda.Queue for the kind "cuda". It is nil on other workers.
	Device any
}

// Task is a call's handle on its task in the runtime.
type Task interface {
	// Finished says that the task has finished with operand i.
	Finished(i int)
}

// Finished says that the call has finished with operand i before its end:
// tasks that wait for that operand only may start. It must neither read nor
// write the operand any more. Units of a gang may call it for different
// operands at the same time; all calls must have returned when Run does. What
// was handed on stays good if the call fails later, and the task is then not
// retried. Outside of tasks it does nothing.
//
// It panics if there is no operand i, and if the call has finished with it
// already.
//
// Reference: "Accelerated execution via eager release of dependencies in
// task-based workflows" (Elshazly et al., 2021).
func (c *Call) Finished(i int) {
	if c.Task != nil {
		c.Task.Finished(i)
	}
}

// Gang is several computing units that execute one call. The runtime makes
// it; a kernel never starts threads of its own.
type Gang interface {
	// Units returns the number of computing units that the call may have.
	// Fewer may be at work, and their number may change during the call.
	Units() int
	// Do calls f(0, …) to f(parts-1, …) on the units of the gang, each part
	// once, and returns when all have returned. Units take the parts one at a
	// time. Every unit has a workspace of its own, which is not the call's. A
	// panic in f becomes a panic of Do.
	Do(parts int, f func(part int, work *Workspace))
}

// Parallel calls f for parts 0 to parts-1 on the call's gang, or one after
// the other if it has none.
func (c *Call) Parallel(parts int, f func(part int, work *Workspace)) {
	if c.Gang != nil {
		c.Gang.Do(parts, f)
		return
	}
	var work Workspace
	for i := range parts {
		f(i, &work)
	}
}

// Workspace is scratch memory that belongs to one worker and is reused from
// call to call. The zero value is ready to use. It is not safe for concurrent
// use. What was in it before a call is unspecified.
type Workspace struct {
	buf []byte
}

// Bytes returns n bytes of scratch, 64-byte aligned. It stays valid until the
// next call of Bytes or [Scratch] on w.
func (w *Workspace) Bytes(n int) []byte {
	if len(w.buf) < n {
		const align = 64
		raw := make([]byte, n+align)
		pages.Large(raw)
		off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (align - 1))
		w.buf = raw[off : off+n : off+n]
	}
	return w.buf[:n:n]
}

// Scratch returns n elements of scratch from w, 64-byte aligned, under the
// same rules as [Workspace.Bytes].
func Scratch[T float32 | float64](w *Workspace, n int) []T {
	if n == 0 {
		return nil
	}
	var zero T
	b := w.Bytes(n * int(unsafe.Sizeof(zero)))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

// Admit returns nil if a worker described by t meets c, the constraints of a task of op beside
// those of the op's versions, else a *[NoVersionError]. Here an empty Kind means any, and a nil c
// no constraints.
func (c *Constraints) Admit(op *Op, t *Target) error {
	if c == nil {
		return nil
	}
	own := *c
	if own.Kind == "" {
		own.Kind = t.Kind
	}
	why := own.Unmet(t)
	if why == "" {
		return nil
	}
	name := ""
	if op != nil {
		name = op.OpName()
	}
	return &NoVersionError{Op: name, Target: t.String(), Reasons: []string{"the task: " + why}}
}
