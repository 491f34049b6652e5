package blocked

import (
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// Program submits the tasks of tile algorithms to a job. Several algorithms
// may follow one another in one Program without waiting: the graph orders
// what must be ordered. A Program is not safe for concurrent use.
//
// What the graph orders is tiles, not memory. So a matrix that a Program writes
// must not share memory with another one that it uses, as two views of one array
// do: the algorithms panic with [ErrOverlap] where they first meet such a pair.
// Matrices that are only read may overlap, and a view may lie beside another one
// in the same rows. A triangle counts as the whole square.
//
// The first error of a submission, which is the job's, stays: nothing is submitted
// after it, and the algorithms return it. Otherwise the caller learns of errors
// from the job's Wait, before which it must neither read nor write the matrices.
type Program[T Element] struct {
	// Failure is the failure policy of the tasks submitted from now on; nil means the
	// usual one. With retries, what a task updates in place is copied first.
	Failure *graph.Failure

	tasks *submit.Tasks[T]
}

// NewProgram returns a Program that submits to job, with the ops given.
func NewProgram[T Element](job exec.Job, from kernels.Ops[T]) *Program[T] {
	p := new(Program[T])
	p.tasks = submit.New(job, from, &p.Failure)
	return p
}

// Len returns the number of tasks submitted so far, also to another goroutine.
func (p *Program[T]) Len() int { return p.tasks.Len() }

// Tasks returns what the packages of algorithms below this one submit tasks through. It is for
// them alone.
func (p *Program[T]) Tasks() *submit.Tasks[T] { return p.tasks }

// Wait waits until the tile (i, j) of a is as the tasks submitted so far leave
// it. It returns the error that keeps it from being so, if any.
func (p *Program[T]) Wait(a *Matrix[T], i, j int) error {
	return p.tasks.Job.WaitOn(p.tasks.Reads(a).Tile(i, j))
}

// Operand returns tile (i, j) of a as an operand of a task of the program's own, which it submits
// to the job itself, in the order of the Program's. It panics as [Matrix.Tile] does.
func (p *Program[T]) Operand(a *Matrix[T], i, j int, mode graph.Mode) graph.Operand {
	return graph.Operand{Datum: p.tasks.OperandOf(a, mode != graph.In).Tile(i, j), Mode: mode}
}

// Data returns values as data for operands of such tasks, which are told to people by a name, and
// belong to the process of that number.
func (p *Program[T]) Data(name string, owner int, values ...versions.Value) []graph.Datum {
	return p.tasks.NewData(name, 1, len(values), func(_, j int) (versions.Value, int) { return values[j], owner })
}
