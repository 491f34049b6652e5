package figures

import (
	"context"
	"fmt"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/versions"
)

// program submits the tasks of a program of Amela et al. (2018) in the order of its sequential code, on blocks
// without elements.
type program struct {
	job  exec.Job
	side int // of a block
	// ranked gives products a higher priority, the longer their remaining chain is.
	ranked bool
	rank   int64 // the priority of the tasks that are submitted now
	ops    map[string]*versions.Op
	knows  map[*graph.Datum]int // blocks that are known to be zero or the identity
	keep   []versions.Shaped
	tasks  int
	flops  float64
	err    error
}

// work is the parameter of a task: how much there is to do.
type work struct{ Flops float64 }

func newProgram(side int) *program { return &program{side: side, ops: map[string]*versions.Op{}} }

// grid is a matrix of m×m blocks.
type grid [][]*graph.Datum

// matrix returns a matrix of m×m blocks.
func (p *program) matrix(name string, m int) grid {
	g := make(grid, m)
	for i := range g {
		for j := range m {
			g[i] = append(g[i], p.block(name, i, j))
		}
	}
	return g
}

// block returns a block. Blocks that are to stay on nodes between jobs must be made before begin.
func (p *program) block(name string, i, j int) *graph.Datum {
	t := &kernels.Tile[float64]{Rows: p.side, Cols: p.side, Stride: p.side}
	p.keep = append(p.keep, t)
	return &graph.Datum{Name: name, Key: graph.Key{I: int32(i), J: int32(j)}, Bytes: 8 * int64(p.side) * int64(p.side), Value: t}
}

// begin begins a job on a runtime. If the runtime has several nodes, blocks stay on them.
func (p *program) begin(ctx context.Context, rt exec.Runtime) {
	if k, ok := rt.(exec.Keeper); ok && p.job == nil {
		_, p.err = k.Keep(p.keep)
	}
	p.job, p.tasks, p.flops = rt.NewJob(ctx), 0, 0
}

// end waits for the tasks of the job.
func (p *program) end() error {
	if p.err == nil {
		p.err = p.job.Wait()
	}
	return p.err
}

// task submits a task of cubes·side³ flops, for blocks of order side.
func (p *program) task(op string, cubes float64, operands ...graph.Operand) {
	if p.err != nil {
		return
	}
	o := p.ops[op]
	if o == nil {
		o = newOp(op)
		p.ops[op] = o
	}
	n := float64(p.side)
	flops := cubes * n * n * n
	p.tasks++
	p.flops += flops
	_, p.err = p.job.Submit(&graph.Spec{Op: o, Params: &work{flops}, Operands: operands, Priority: p.rank})
}

// newOp returns an op whose tasks take as long as their parameters say.
func newOp(name string) *versions.Op {
	o := &versions.Op{Name: name, Type: "f64", Work: func(c *versions.Call) float64 { return c.Params.(*work).Flops },
		Versions: []versions.Version{{Name: "mkl", Run: func(*versions.Call) error { return fmt.Errorf("%s: only simulated", name) }}}}
	if name == "gemm" { // figure 8 of the paper
		o.Versions = append(o.Versions, versions.Version{Name: "cublas", Constraints: versions.Constraints{Kind: "cuda"}, Run: o.Versions[0].Run})
	}
	return o
}

func in(d *graph.Datum) graph.Operand    { return graph.Operand{Datum: d, Mode: graph.In} }
func out(d *graph.Datum) graph.Operand   { return graph.Operand{Datum: d, Mode: graph.Out} }
func inout(d *graph.Datum) graph.Operand { return graph.Operand{Datum: d, Mode: graph.InOut} }

// fill makes each block of the matrices in a task of its own.
func (p *program) fill(all ...grid) {
	for _, g := range all {
		for _, row := range g {
			for _, d := range row {
				p.task("init", 0, out(d))
			}
		}
	}
}

// matmul is C += A·B (section 3.1).
func (p *program) matmul(a, b, c grid) {
	for i := range c {
		for j := range c {
			for k := range c {
				if p.ranked {
					p.rank = int64(len(c) - k)
				}
				p.task("gemm", 2, inout(c[i][j]), in(a[i][k]), in(b[k][j]))
			}
		}
	}
}

// cholesky is the code of figure 6. All tasks of its trailing update are gemm, including those on the diagonal.
func (p *program) cholesky(a grid) {
	m := len(a)
	for k := range m {
		p.task("potrf", 1./3, inout(a[k][k]))
		for i := k + 1; i < m; i++ {
			p.task("trsm", 1, in(a[k][k]), inout(a[i][k]))
		}
		for i := k + 1; i < m; i++ {
			for j := i; j < m; j++ {
				ops := []graph.Operand{inout(a[j][i]), in(a[j][k])}
				if i != j {
					ops = append(ops, in(a[i][k]))
				}
				p.task("gemm", 2, ops...)
			}
		}
	}
}

// Constant blocks: if the program saves memory, it treats them as known to be zero or the identity. See qr.
const (
	zero = iota + 1
	identity
)

// known returns a block that is known to be zero or the identity, so it has no elements.
func (p *program) known(what int) *graph.Datum {
	d := p.block("known", 0, 0)
	d.Bytes = 0
	p.knows[d] = what
	return d
}

// dot returns a·b as a new block.
func (p *program) dot(a, b *graph.Datum) *graph.Datum {
	c, cubes := p.block("dot", 0, 0), 2.0
	switch x, y := p.knows[a], p.knows[b]; {
	case x == zero || y == zero:
		c, cubes = p.known(zero), 0
	case x == identity || y == identity:
		cubes = 0
	}
	p.task("dot", cubes, in(a), in(b), out(c))
	return c
}

// multiplied is c += a·b. It returns the resulting block, which is a new one if c is known to be zero. A
// product with zero leaves c unchanged, but its task still reads all three blocks.
func (p *program) multiplied(a, b, c *graph.Datum) *graph.Datum {
	x, y := p.knows[a], p.knows[b]
	cubes := 2.0
	if x != 0 || y != 0 {
		cubes = 0
	}
	if x == zero || y == zero || p.knows[c] == 0 {
		p.task("gemm", cubes, inout(c), in(a), in(b))
		return c
	}
	sum := p.block("sum", 0, 0)
	p.task("gemm", cubes, in(c), in(a), in(b), out(sum))
	return sum
}

// blocked is the product of two matrices of blocks, multiplyBlocked of the paper. A task makes each block of
// the result as zeros, and one task per product adds to it.
func (p *program) blocked(a, b grid, save bool) grid {
	c := make(grid, len(a))
	for i := range a {
		for j := range b[0] {
			x := p.block("zero", 0, 0)
			if save {
				x = p.known(zero)
			}
			p.task("init", 0, out(x))
			for k := range b {
				x = p.multiplied(a[i][k], b[k][j], x)
			}
			c[i] = append(c[i], x)
		}
	}
	return c
}

// qr is the code of figure 10, with rotations as matrices of 2×2 blocks. If save is set, zero and identity
// blocks of Q are known as such: they have no elements, and their tasks return at once.
func (p *program) qr(r, q grid, save bool) {
	m := len(r)
	if p.knows = map[*graph.Datum]int{}; save {
		for i := range q {
			for j := range q[i] {
				if q[i][j] = p.known(zero); i == j {
					q[i][j] = p.known(identity)
				}
			}
		}
	}
	for i := range m {
		act := p.block("act", i, i)
		p.task("qr", 8./3, inout(r[i][i]), out(act))
		for j := range m {
			q[j][i] = p.dot(q[j][i], act)
		}
		for j := i + 1; j < m; j++ {
			r[i][j] = p.dot(act, r[i][j])
		}
		for j := i + 1; j < m; j++ {
			sub := p.matrix("sub", 2)
			p.task("littleqr", 38./3, inout(r[i][i]), inout(r[j][i]), out(sub[0][0]), out(sub[0][1]), out(sub[1][0]), out(sub[1][1]))
			for k := i + 1; k < m; k++ {
				c := p.blocked(sub, grid{{r[i][k]}, {r[j][k]}}, save)
				r[i][k], r[j][k] = c[0][0], c[1][0]
			}
			for k := range m {
				c := p.blocked(grid{{q[k][i], q[k][j]}}, sub, save)
				q[k][i], q[k][j] = c[0][0], c[0][1]
			}
		}
	}
}

// lu is the code of figure 13. Blocks of the pivot's column and row are multiplied by inverses of triangles.
// Each task that needs an inverse computes it again.
func (p *program) lu(a, l, u, perm grid) {
	m := len(a)
	p.task("getrf", 2./3, in(a[0][0]), out(perm[0][0]), out(l[0][0]), out(u[0][0]))
	invert := func(d *graph.Datum) *graph.Datum {
		x := p.block("inverse", 0, 0)
		p.task("trtri", 1, in(d), out(x)) // solve_triangular with the identity
		return x
	}
	for j := 1; j < m; j++ {
		p.task("multiply", 4, in(invert(l[0][0])), in(perm[0][0]), in(a[0][j]), out(u[0][j]))
	}
	for i := 1; i < m; i++ {
		for j := i; j < m; j++ {
			for k := i; k < m; k++ {
				x := p.block("product", j, k)
				p.task("multiply", 2, in(a[j][i-1]), in(invert(u[i-1][i-1])), out(x))
				p.task("gemm", 2, inout(a[j][k]), in(x), in(u[i-1][k]))
			}
		}
		p.task("getrf", 2./3, in(a[i][i]), out(perm[i][i]), out(l[i][i]), out(u[i][i]))
		for j := range i {
			p.task("multiply", 4, in(perm[i][i]), in(a[i][j]), in(invert(u[i][i])), out(l[i][j]))
		}
		for j := i + 1; j < m; j++ {
			p.task("multiply", 4, in(invert(l[i][i])), in(perm[i][i]), in(a[i][j]), out(u[i][j]))
		}
	}
}
