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
// The graph orders tasks by tiles, not by memory. So a matrix that a Program writes
// must not share memory with another matrix that the Program uses, as two views of
// one array may do. The algorithms panic with [ErrOverlap] when they first meet such a
// pair. Matrices that are only read may overlap, and views may lie side by side in the
// same rows. A triangle counts as the whole square.
//
// The first error of a submission, which is the job's, stays: nothing is submitted
// after it, and the algorithms return it. The job's Wait returns the errors of tasks.
// Before Wait the caller must neither read nor write the matrices.
type Program[T Element] struct {
	// Failure is the failure policy of the tasks submitted from now on; nil means the
	// default. With retries, values that a task updates in place are copied first.
	Failure *graph.Failure

	tasks   *submit.Tasks[T]
	door[T] // for packages chol, lu and qr
}

// door leads the packages of algorithms below this one to the tasks of a Program.
type door[T Element] = submit.Door[T]

// NewProgram returns a Program that submits to job, with the ops given.
func NewProgram[T Element](job exec.Job, from kernels.Ops[T]) *Program[T] {
	p := new(Program[T])
	p.tasks = submit.New(job, from, &p.Failure)
	p.door = submit.NewDoor(p.tasks)
	return p
}

// Len returns the number of tasks submitted so far. Another goroutine may call it.
func (p *Program[T]) Len() int { return p.tasks.Len() }

// Wait waits until the tasks submitted so far have finished with tile (i, j) of a. It
// returns an error if they cannot compute the tile.
func (p *Program[T]) Wait(a *Matrix[T], i, j int) error {
	return p.tasks.Job.WaitOn(p.tasks.Reads(a).Tile(i, j))
}

// Operand returns tile (i, j) of a as an operand of a task that the caller submits to the job itself, in
// order with the tasks of p. It panics as [Matrix.Tile] does.
func (p *Program[T]) Operand(a *Matrix[T], i, j int, mode graph.Mode) graph.Operand {
	return graph.Operand{Datum: p.tasks.OperandOf(a, mode != graph.In).Tile(i, j), Mode: mode}
}

// Data returns values as data for operands of such tasks. name is for messages and traces, and owner is
// the number of the process that owns the values.
func (p *Program[T]) Data(name string, owner int, values ...versions.Value) []graph.Datum {
	return p.tasks.NewData(name, 1, len(values), func(_, j int) (versions.Value, int) { return values[j], owner })
}
