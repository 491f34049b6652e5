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
	// Thin says that a call has so few rows or columns somewhere that its time goes
	// by the memory that it reads, and not by its work. Such calls have size
	// classes of their own. Nil means that none is.
	Thin func(*Call) bool
	// NewParams returns a new parameter of the op, with every field zero, by
	// pointer: a struct of plain data. Nil means that the op takes none.
	NewParams func() any
	// Derive, if not nil, returns Call.Local for a task of a node that has the versions of
	// operands that many tasks read: of returns what tasks that read the same version of
	// an operand share in a role, which fresh makes for the first of them. It may be nil.
	Derive func(args []any, of func(operand, role int, fresh func() Derived) Derived) any
	// Bound says that calls of the op read or write what only this process has, the
	// source of a matrix, say: its tasks are never sent to another one.
	Bound bool
}

// Derived is what tasks make of a version of an operand for themselves and others that read
// it. Release says that no further ones do: its memory goes when the last of them ends.
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
	// Help returns how many computing units a call makes use of if there are workers that
	// have nothing else to do, and whether those stay until the call ends, as those do
	// that the constraints ask for. Otherwise they take parts of the call ([Gang.Do]) and
	// go when there is a task for them; then a version with several units has no help.
	// Nil, or a number that is not more than the units, means none. It gets what Run gets.
	Help func(*Call) (units int, stay bool)
	// Run executes the call. It must not start goroutines or threads and may
	// keep nothing of the call after it returns. An error fails the task.
	Run func(*Call) error
	// Memory returns the bytes of the worker's memory that a call needs beside
	// its operands and beside what Constraints.Memory says; nil means none. It
	// panics as Run does if the call is not the op's.
	Memory func(*Call) int64
	// Batch is how several small calls are executed as one; nil if they are not.
	Batch *Batch
}

// Batch executes several calls of a version at once on an accelerator, where each
// of them is too short to be worth a start of its own. The calls do not depend on
// one another.
type Batch struct {
	// Key returns a comparable value: calls with equal ones may be executed
	// together. It is nil for a call that is to be executed alone. It gets what
	// Run of the version gets but for Device, Work and Gang, and may panic as that
	// does.
	Key func(*Call) any
	// Run does for all calls, of which there are two at least, what Run of the
	// version does for one. If it returns an error, nothing of what the calls write
	// has been touched, nor will be: each can be executed alone.
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

// Constraints is what a version asks of the worker that runs it, after the
// constraints of PyCOMPSs (architecture, processor name, computing units,
// memory). The zero value is met by every CPU worker.
type Constraints struct {
	// Kind of device: "cpu" (the default when empty) or "cuda".
	Kind string
	// Arch is the instruction set architecture in Go's words ("amd64"), empty
	// for any.
	Arch string
	// Processor is a processor name as the node description gives it
	// ("KNL"), empty for any. Case does not matter.
	Processor string
	// Features are ISA extensions that must all be present, in lower case:
	// "avx2", "fma3", "avx512f".
	Features []string
	// Units is the number of computing units (cores) that one call occupies;
	// 0 means 1.
	Units int
	// Memory is the number of bytes of device or node memory that any call
	// needs beside its operands; 0 means no demand. See [Version.Memory] for
	// what depends on the call.
	Memory int64
}

// Target describes a worker to the selector: what it can run. A Target is
// read-only once a worker uses it.
type Target struct {
	Kind      string   // "cpu" (also when empty) or "cuda"
	Arch      string   // GOARCH of the worker
	Processor string   // processor name: CPUID brand, or as declared
	Features  []string // ISA extensions, lower case
	Units     int      // computing units that the worker owns; 0 means 1
	Memory    int64    // bytes of memory; 0 means unknown and unbounded
	// Ops are those that the worker is for, as in "gemm", or "gemm/f64"; nil means all that
	// it has a version of.
	Ops []string
}

// String returns the worker in words, as errors name it.
func (t *Target) String() string { return keyOf(t).String() }

// unmeant returns why a worker is not for an op, "" if it is.
func (t *Target) unmeant(op *Op) string {
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
	// Local is what the task shares with others of this process, and is never sent:
	// operands that are packed already, say. Results do not depend on it, and it may
	// be nil.
	Local any
	// Args holds the operands in the op's order: the values of the task's
	// data. The slice belongs to the worker; its elements to the task.
	Args []any
	// Work is the worker's scratch memory.
	Work *Workspace
	// Gang is the computing units of a call that has more than one: see
	// Constraints.Units and Version.Help. It is nil for others, and
	// may be so where there is only one.
	Gang Gang
	// Budget is what the job that the call belongs to may lose by exploring
	// versions; nil means nothing.
	Budget *Budget
	// Task is the runtime's handle on the task that the call belongs to; nil
	// outside of tasks.
	Task Task
	// Device is what an accelerator gives to versions of its kind, where they
	// find their operands and the stream that they are to enqueue their work on:
	// a *cuda.Queue for the kind "cuda". It is nil on other workers.
	Device any
}

// Task is what a call can tell the runtime of its task.
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
