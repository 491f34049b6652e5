package taskbench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// fields is the number of buffers of a point. The results of that many steps can be alive at once, so that a
// slow reader does not delay the next step.
const fields = 4

// result is the output of a task.
type result struct{ step, point int }

// task is the parameter of a task.
type task struct {
	step, point int
	iterations  int
	needs       []int
}

// errWrongInput says that a task got a wrong input.
var errWrongInput = errors.New("taskbench: wrong input")

// newOp returns the op of the tasks. Its operands are the results that the task needs, followed by its own
// result.
func newOp() *versions.Op {
	return &versions.Op{Name: "point", Versions: []versions.Version{{Name: "go", Run: run}}}
}

func run(c *versions.Call) error {
	t := c.Params.(*task)
	own := len(c.Args) - 1
	if own != len(t.needs) {
		return fmt.Errorf("%w: point %d of step %d has %d inputs, want %d", errWrongInput, t.point, t.step, own, len(t.needs))
	}
	for k, p := range t.needs {
		if in := c.Args[k].(*result); in.step != t.step-1 || in.point != p {
			return fmt.Errorf("%w: point %d of step %d got the result of point %d of step %d, want point %d of step %d",
				errWrongInput, t.point, t.step, in.point, in.step, p, t.step-1)
		}
	}
	spin(t.iterations)
	*c.Args[own].(*result) = result{t.step, t.point}
	return nil
}

// spin computes: 64 multiplications and additions per iteration, in registers.
//
//go:noinline
func spin(iterations int) float64 {
	a, b, c, d := 1.0, 1.1, 1.2, 1.3
	for range iterations {
		for range 8 {
			a, b, c, d = a*0.999+0.001, b*0.998+0.002, c*0.997+0.003, d*0.996+0.004
		}
	}
	return a + b + c + d
}

// Program is a graph that can be run many times.
type Program struct {
	op    *versions.Op
	tasks []task
	specs []graph.Spec
	data  []graph.Datum
}

// NewProgram returns the program of g.
func NewProgram(g Graph) *Program {
	p := &Program{op: newOp(), data: make([]graph.Datum, fields*g.Width)}
	for i := range p.data {
		d := &p.data[i]
		d.Value, d.Bytes, d.Name, d.I, d.J = &result{-1, -1}, 16, "point", int32(i/g.Width), int32(i%g.Width)
	}
	p.tasks = make([]task, 0, g.Tasks())
	at := func(step, point int) *graph.Datum { return &p.data[step%fields*g.Width+point] }
	for step := range g.Steps {
		for i := range g.Points(step) {
			p.tasks = append(p.tasks, task{step: step, point: i, needs: g.Needs(step, i)})
			t := &p.tasks[len(p.tasks)-1]
			s := graph.Spec{Op: p.op, Params: t, Priority: int64(g.Steps - step)}
			for _, n := range t.needs {
				s.Operands = append(s.Operands, graph.Operand{Datum: at(step-1, n), Mode: graph.In})
			}
			s.Operands = append(s.Operands, graph.Operand{Datum: at(step, i), Mode: graph.Out})
			p.specs = append(p.specs, s)
		}
	}
	return p
}

// Run runs the program once with tasks of the given number of iterations. It returns the time from the first
// submission to the end of the last task. The error is that of the job: an *exec.TaskError around errWrongInput
// if the runtime gave a task a wrong input.
func (p *Program) Run(ctx context.Context, rt *exec.Local, iterations int) (time.Duration, error) {
	for i := range p.tasks {
		p.tasks[i].iterations = iterations
	}
	job := rt.NewJob(ctx)
	start := time.Now()
	for i := range p.specs {
		if _, err := job.Submit(&p.specs[i]); err != nil {
			break // Wait returns the error of the job
		}
	}
	err := job.Wait()
	return time.Since(start), err
}
