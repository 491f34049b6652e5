package blocked_test

import (
	"github.com/tessera-la/tessera/blocked"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/internal/submit"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// Factorizations have the same bits whether tasks share packed operands or not, and
// every task says when it is done with them: nothing of the room is taken at the
// end.
func TestPackingSameBits(t *testing.T) {
	const n, nb, room = 5*packFrom + 40, packFrom + 32, 1 << 30
	table := op.NewTable()
	rt, err := exec.NewLocal(exec.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	a := dominant(n)
	for name, run := range map[string]func(p *blocked.Program[float64], g blocked.General[float64]) error{
		"potrf, lower": func(p *blocked.Program[float64], g blocked.General[float64]) error {
			return chol.Potrf(p, blocked.ViewSymmetric(blocked.Symmetric[float64]{Uplo: blas.Lower, N: n, Data: g.Data, Stride: n}, nb))
		},
		"potrf, upper": func(p *blocked.Program[float64], g blocked.General[float64]) error {
			return chol.Potrf(p, blocked.ViewSymmetric(blocked.Symmetric[float64]{Uplo: blas.Upper, N: n, Data: g.Data, Stride: n}, nb))
		},
		"getrf": func(p *blocked.Program[float64], g blocked.General[float64]) error {
			return lu.Getrf(p, blocked.View(g, nb), lu.NewPivots(n, n, nb))
		},
		"geqrf": func(p *blocked.Program[float64], g blocked.General[float64]) error {
			return qr.Geqrf(p, blocked.View(g, nb), qr.NewRotations[float64](n, n, nb, qr.RotationOptions{}))
		},
	} {
		result := func(bytes int64) []float64 {
			g := a
			g.Data = slices.Clone(a.Data)
			job := rt.NewJob(t.Context())
			p := blocked.NewProgram(job, kernels.For[float64](table))
			submit.Of(p).Room = kernels.NewPackingRoom(bytes)
			if err := run(p, g); err != nil {
				t.Fatal(err)
			}
			if err := job.Wait(); err != nil {
				t.Fatal(err)
			}
			if left := submit.Of(p).Room.Left(); left != bytes {
				t.Errorf("%s: of room for %d bytes %d are left", name, bytes, left)
			}
			return g.Data
		}
		if !slices.Equal(result(room), result(0)) {
			t.Errorf("%s: other bits with packed operands", name)
		}
	}
}

// dominant returns a symmetric positive definite matrix.
func dominant(n int) blocked.General[float64] {
	a := blocked.General[float64]{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
	rnd := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		for j := range i + 1 {
			x := rnd.NormFloat64()
			a.Data[i*n+j], a.Data[j*n+i] = x, x
		}
		a.Data[i*n+i] += 2 * float64(n)
	}
	return a
}

// From packFrom on all tasks that read a tile as the same operand are given the same
// Packing, which no other tile has, and below it they are given none. Here a tile is
// an operand in one step only.
func TestPackingShared(t *testing.T) {
	rt, err := exec.NewLocal(exec.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	type count = map[string]int // of tiles, by what they are to at least two tasks
	for name, c := range map[string]struct {
		want count // of 4×4 tiles
		tree qr.Tree
		// before is not looked at.
		before, run func(p *blocked.Program[float64], a blocked.General[float64], nb int, q *qr.Rotations[float64]) error
	}{
		"potrf, lower": {want: count{"A": 3, "B": 3}, run: func(p *blocked.Program[float64], a blocked.General[float64], nb int, _ *qr.Rotations[float64]) error {
			return chol.Potrf(p, blocked.ViewSymmetric(blocked.Symmetric[float64]{Uplo: blas.Lower, N: a.Rows, Data: a.Data, Stride: a.Stride}, nb))
		}},
		"potrf, upper": {want: count{"A": 3, "B": 3}, run: func(p *blocked.Program[float64], a blocked.General[float64], nb int, _ *qr.Rotations[float64]) error {
			return chol.Potrf(p, blocked.ViewSymmetric(blocked.Symmetric[float64]{Uplo: blas.Upper, N: a.Rows, Data: a.Data, Stride: a.Stride}, nb))
		}},
		"getrf": {want: count{"A": 3 + 2, "B": 3 + 2}, run: func(p *blocked.Program[float64], a blocked.General[float64], nb int, _ *qr.Rotations[float64]) error {
			return lu.Getrf(p, blocked.View(a, nb), lu.NewPivots(a.Rows, a.Cols, nb))
		}},
		"geqrf, flat":   {want: count{"V of unmqr": 1 + 1, "V of tsmqr": 3 + 2}, tree: qr.TreeFlat, run: factorQR},
		"geqrf, binary": {want: count{"V of unmqr": 4 + 3, "V of ttmqr": 3 + 2}, tree: qr.TreeBinary, run: factorQR},
		"orgqr": {want: count{"V of unmqr": 1 + 1 + 1, "V of tsmqr": 3 + 2 + 1}, tree: qr.TreeFlat, before: factorQR,
			run: func(p *blocked.Program[float64], a blocked.General[float64], nb int, q *qr.Rotations[float64]) error {
				return qr.Orgqr(p, blocked.View(a, nb), q, blocked.New[float64](blocked.Full, a.Rows, a.Cols, nb))
			}},
		"ormqr, left": {want: count{"V of unmqr": 4, "V of tsmqr": 3 + 2 + 1}, tree: qr.TreeFlat, before: factorQR,
			run: func(p *blocked.Program[float64], a blocked.General[float64], nb int, q *qr.Rotations[float64]) error {
				return qr.Ormqr(p, blas.Left, blas.Trans, blocked.View(a, nb), q, blocked.New[float64](blocked.Full, a.Rows, a.Cols, nb))
			}},
		"ormqr, right": {want: count{"V of unmqr": 4 + 3 + 2 + 1, "V of ttmqr": 3 + 2 + 1}, tree: qr.TreeGreedy, before: factorQR,
			run: func(p *blocked.Program[float64], a blocked.General[float64], nb int, q *qr.Rotations[float64]) error {
				return qr.Ormqr(p, blas.Right, blas.NoTrans, blocked.View(a, nb), q, blocked.New[float64](blocked.Full, a.Rows, a.Cols, nb))
			}},
	} {
		for _, nb := range []int{packFrom, packFrom - 1} {
			spy, table := &packingSpy{}, op.NewTable()
			spy.reset()
			spy.add(table)
			const room = 1 << 30
			job := rt.NewJob(t.Context())
			p := blocked.NewProgram(job, kernels.For[float64](table))
			submit.Of(p).Room = kernels.NewPackingRoom(room)
			a, q := dominant(4*nb), qr.NewRotations[float64](4*nb, 4*nb, nb, qr.RotationOptions{Tree: c.tree})
			if c.before != nil {
				if err := c.before(p, a, nb, q); err != nil {
					t.Fatal(err)
				}
				if err := job.Wait(); err != nil {
					t.Fatal(err)
				}
				// A Program knows one matrix in a place: run makes another one.
				p = blocked.NewProgram(job, kernels.For[float64](table))
				submit.Of(p).Room = kernels.NewPackingRoom(room)
			}
			spy.reset()
			if err := c.run(p, a, nb, q); err != nil {
				t.Fatal(err)
			}
			if err := job.Wait(); err != nil {
				t.Fatal(err)
			}
			want := c.want
			if nb < packFrom {
				want = count{}
			}
			if got := spy.shared(t, name, nb); !maps.Equal(got, want) {
				t.Errorf("%s, tiles of %d: shared are %v, want %v", name, nb, got, want)
			}
			if left := submit.Of(p).Room.Left(); left != room {
				t.Errorf("%s, tiles of %d: of room for %d bytes %d are left", name, nb, room, left)
			}
		}
	}
}

func factorQR(p *blocked.Program[float64], a blocked.General[float64], nb int, q *qr.Rotations[float64]) error {
	return qr.Geqrf(p, blocked.View(a, nb), q)
}

// packingSpy notes which Packing the tasks were given for each of their operands.
type packingSpy struct {
	mu       sync.Mutex
	operands map[packedOperand]*handed
}

// packedOperand is a tile, by its first element, and what it is to a task.
type packedOperand struct {
	tile *float64
	as   string
}

// handed is what so many tasks were given for the same operand: packings, each once,
// and nil for none.
type handed struct {
	packings []*kernels.Packing
	tasks    int
}

// add adds versions to table that note their operands and leave the work, and what
// is to be done with a Packing, to the versions that were the first before.
func (s *packingSpy) add(table *kernels.Table) {
	m := topo.Detect()
	here := &versions.Target{Arch: m.Arch, Features: m.Features}
	ops := kernels.For[float64](table)
	for _, op := range []*versions.Op{ops.Op("gemm"), ops.Op("syrk"), ops.Op("unmqr"), ops.Op("tsmqr"), ops.Op("ttmqr")} {
		i := slices.IndexFunc(op.Versions, func(v versions.Version) bool {
			return v.Constraints.Unmet(here) == "" && v.Constraints.Units < 2
		})
		run := op.Versions[i].Run
		table.Add(op, versions.Version{Name: "spy", Run: func(call *versions.Call) error {
			s.note(call)
			return run(call)
		}})
	}
}

func (s *packingSpy) note(call *versions.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	note := func(arg int, as string, p *kernels.Packing) {
		o := packedOperand{&call.Args[arg].(*blocked.Tile[float64]).Data[0], as}
		h := s.operands[o]
		if h == nil {
			h = &handed{}
			s.operands[o] = h
		}
		h.tasks++
		if !slices.Contains(h.packings, p) {
			h.packings = append(h.packings, p)
		}
	}
	p := kernels.PackingsOf(call)
	switch call.Params.(type) {
	case *op.Gemm[float64]:
		note(0, "A", p.A)
		note(1, "B", p.B)
	case *op.Syrk[float64]:
		note(0, "A", p.A)
		note(0, "B", p.B)
	case *op.Unmqr:
		note(0, "V of unmqr", p.A)
	case *op.Tsmqr:
		note(0, "V of tsmqr", p.A)
	case *op.Ttmqr:
		note(0, "V of ttmqr", p.A)
	}
}

func (s *packingSpy) reset() { s.operands = map[packedOperand]*handed{} }

// shared returns how many operands at least two tasks have shared, by what they were.
func (s *packingSpy) shared(t *testing.T, name string, nb int) map[string]int {
	owners, n := map[*kernels.Packing]packedOperand{}, map[string]int{}
	if len(s.operands) == 0 {
		t.Errorf("%s, tiles of %d: no task was seen", name, nb)
	}
	for o, h := range s.operands {
		if len(h.packings) > 1 {
			t.Errorf("%s, tiles of %d: %d tasks were given %d packings of one %s", name, nb, h.tasks, len(h.packings), o.as)
		}
		for _, p := range h.packings {
			if p == nil {
				continue
			}
			if other, ok := owners[p]; ok {
				t.Errorf("%s, tiles of %d: one packing for two tiles, %s and %s", name, nb, o.as, other.as)
			}
			owners[p] = o
			if h.tasks > 1 {
				n[o.as]++
			}
		}
	}
	return n
}

// packFrom is the tile size from which tasks share packed operands.
const packFrom = submit.PackFrom
