package blocked

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels"
	"gonum.org/v1/gonum/blas"
)

// Factorizations have the same bits whether tasks share packed operands or not, and
// every task says when it is done with them: nothing of the room is taken at the
// end.
func TestPackingSameBits(t *testing.T) {
	const n, nb, room = 5*packFrom + 40, packFrom + 32, 1 << 30
	table := kernels.NewTable()
	rt, err := exec.NewLocal(exec.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close()
	a := General[float64]{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
	rnd := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		for j := range i + 1 {
			x := rnd.NormFloat64()
			a.Data[i*n+j], a.Data[j*n+i] = x, x
		}
		a.Data[i*n+i] += 2 * n
	}
	for name, run := range map[string]func(p *Program[float64], g General[float64]) error{
		"potrf, lower": func(p *Program[float64], g General[float64]) error {
			return p.Potrf(ViewSymmetric(Symmetric[float64]{Uplo: blas.Lower, N: n, Data: g.Data, Stride: n}, nb))
		},
		"potrf, upper": func(p *Program[float64], g General[float64]) error {
			return p.Potrf(ViewSymmetric(Symmetric[float64]{Uplo: blas.Upper, N: n, Data: g.Data, Stride: n}, nb))
		},
		"getrf": func(p *Program[float64], g General[float64]) error { return p.Getrf(View(g, nb), NewPivots(n, n, nb)) },
		"geqrf": func(p *Program[float64], g General[float64]) error {
			return p.Geqrf(View(g, nb), NewRotations[float64](n, n, nb, RotationOptions{}))
		},
	} {
		result := func(bytes int64) []float64 {
			g := a
			g.Data = slices.Clone(a.Data)
			job := rt.NewJob(t.Context())
			p := NewProgram(job, kernels.For[float64](table))
			p.room = kernels.NewPackingRoom(bytes)
			if err := run(p, g); err != nil {
				t.Fatal(err)
			}
			if err := job.Wait(); err != nil {
				t.Fatal(err)
			}
			if left := p.room.Left(); left != bytes {
				t.Errorf("%s: of room for %d bytes %d are left", name, bytes, left)
			}
			return g.Data
		}
		if !slices.Equal(result(room), result(0)) {
			t.Errorf("%s: other bits with packed operands", name)
		}
	}
}
