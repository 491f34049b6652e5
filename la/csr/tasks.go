package csr

import (
	"cmp"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/versions"
)

// datum returns t as datum i of the matrix with the given number in the job.
func datum(name string, matrix uint32, i int, owner int32, t *tile) *graph.Datum {
	return &graph.Datum{Name: name, Key: graph.Key{Matrix: matrix, I: int32(i)}, Owner: owner, Value: t, Bytes: t.Bytes()}
}

// tasks submits tasks of a job until the first error.
type tasks struct {
	job exec.Job
	err error
}

// submit submits a task, unless there is an error.
func (t *tasks) submit(op *versions.Op, params any, operands ...graph.Operand) {
	if t.err == nil {
		_, t.err = t.job.Submit(&graph.Spec{Op: op, Params: params, Operands: operands})
	}
}

// wait waits for the end of the job. It prefers the error of the job, which is usually the cause.
func (t *tasks) wait() error {
	t.err = cmp.Or(t.job.Wait(), t.err)
	return t.err
}

// transposed computes Aᵀ·x for the blocks of A and the parts of x: sums[k] becomes the product of block k
// transposed with part k. Then it adds the products in a tree; the result is in sums[0].
func (t *tasks) transposed(sums, blocks, x []*graph.Datum) {
	for k := range sums {
		t.submit(ops().tmv, nil, in(blocks[k]), in(x[k]), out(sums[k]))
	}
	for step := 1; step < len(sums); step *= 2 {
		for k := 0; k+step < len(sums); k += 2 * step {
			t.submit(ops().add, &addParams{1, 1}, in(sums[k+step]), graph.Operand{Datum: sums[k], Mode: graph.InOut})
		}
	}
}

func in(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.In} }

func out(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.Out} }
