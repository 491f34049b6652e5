package blocked_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/chol"
	"github.com/tessera-la/tessera/blocked/internal/blockedtest"
	"github.com/tessera-la/tessera/blocked/lu"
	"github.com/tessera-la/tessera/blocked/qr"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/graph"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
	"gonum.org/v1/gonum/blas"
)

// witness is a job that remembers the data of its tasks, in their order.
type witness struct {
	exec.Job
	data []*graph.Datum
	seen map[*graph.Datum]bool
}

func (w *witness) Submit(s *graph.Spec) (graph.TaskID, error) {
	for _, o := range s.Operands {
		if !w.seen[o.Datum] {
			w.seen[o.Datum] = true
			w.data = append(w.data, o.Datum)
		}
	}
	return w.Job.Submit(s)
}

// everything submits all algorithms, on matrices of owner(i, j) = i + 2j.
func everything(t *testing.T, p *blocked.Program[float64]) error {
	const n, nb, ib = 21, 4, 2
	owned := func(a *blocked.Matrix[float64]) *blocked.Matrix[float64] {
		if err := a.SetLayout(blocked.LayoutFunc(func(i, j int) int { return i + 2*j }), 100); err != nil {
			t.Fatal(err)
		}
		return a
	}
	one := func(kind blocked.Kind) *blocked.Matrix[float64] {
		a := owned(blocked.New[float64](kind, n, n, nb))
		a.SetIdentity()
		return a
	}
	full := func() *blocked.Matrix[float64] { return one(blocked.Full) }
	a, b, c, s := full(), full(), full(), one(blocked.SymLower)
	loaded := owned(tiles.Unfilled[float64](blocked.Full, n, n, nb))
	_, err := p.LoadStats(loaded, full(), blocked.LoadOptions{})
	errs := []error{err,
		p.Gemm(blas.NoTrans, blas.Trans, 1, a, b, 1, c), p.Gemm(blas.NoTrans, blas.Trans, 0, a, b, 2, c),
		p.Symm(1, s, blocked.NewDiagonal(s, 1), b, 1, c), p.Syrk(blas.NoTrans, 1, a, 3, s), p.Syrk(blas.NoTrans, 0, a, 1, s),
		p.Trmm(blas.Left, blas.Lower, blas.NoTrans, blas.Unit, 1, s, c), p.Trsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, 2, s, c),
		chol.Potrf(p, s), chol.Potri(p, s, one(blocked.TriLower), s), p.Load(full(), full(), blocked.LoadOptions{ByColumns: true}),
	}
	for _, getrf := range []func(*blocked.Program[float64], *blocked.Matrix[float64], *lu.Pivots) error{lu.Getrf[float64], lu.GetrfTile[float64], lu.GetrfTournament[float64]} {
		f, v := full(), lu.NewPivots(n, n, nb)
		errs = append(errs, getrf(p, f, v), lu.Getrs(p, blas.NoTrans, f, v, c), lu.Getrs(p, blas.Trans, f, v, c), lu.Getri(p, f, v, full()))
	}
	for _, tree := range qr.Trees() {
		f, q := full(), qr.NewRotations[float64](n, n, nb, qr.RotationOptions{Tree: tree, IB: ib, Cores: 3})
		errs = append(errs, qr.Geqrf(p, f, q), qr.Ormqr(p, blas.Right, blas.Trans, f, q, c), qr.Orgqr(p, f, q, full()))
	}
	sliced := func() *qr.Slices[float64] { return qr.SliceColumns(blockedtest.Memory[float64](n, n), nb) }
	v, t1 := sliced(), qr.NewReflectors[float64](n, n, nb, ib)
	return errors.Join(append(errs, err, qr.GeqrfColumns(p, v, t1), qr.OrmqrColumns(p, blas.Left, blas.Trans, v, t1, sliced()), qr.OrgqrColumns(p, v, t1, sliced()),
		qr.SetTau(p, qr.NewReflectors[float64](n, n, nb, ib), sliced(), make([]float64, n)))...)
}

// TestData: what tasks get are values that know themselves, each with a key and an
// owner of its own, the same ones in each run, and no two in the same memory.
func TestData(t *testing.T) {
	rt := blockedtest.StartLocal(t, exec.Options{Workers: 2, Float: true})
	run := func() []*graph.Datum {
		w := &witness{Job: rt.NewJob(t.Context()), seen: map[*graph.Datum]bool{}}
		if err := errors.Join(everything(t, blocked.NewProgram(w, kernels.For[float64](op.NewTable()))), w.Wait()); err != nil {
			t.Fatal(err)
		}
		return w.data
	}
	data, again := run(), run()
	if len(data) != len(again) {
		t.Fatalf("%d data, then %d", len(data), len(again))
	}
	type row struct {
		from, to uintptr
		d        *graph.Datum
	}
	var rows []row
	add := func(d *graph.Datum, first unsafe.Pointer, bytes uintptr) {
		if bytes > 0 {
			rows = append(rows, row{uintptr(first), uintptr(first) + bytes, d})
		}
	}
	known, owners := map[graph.Key]*graph.Datum{}, map[int32]bool{}
	for k, d := range data {
		v, ok := d.Value.(versions.Value)
		_, grows := v.(*kernels.Candidates[float64]) // with the rounds of a tournament
		if !ok || v.Bytes() != d.Bytes && !grows {
			t.Errorf("%v is %T of %d bytes", d, d.Value, d.Bytes)
		}
		if d.Key.Matrix == 0 || known[d.Key] != nil {
			t.Errorf("%v and %v have the key %v", d, known[d.Key], d.Key)
		}
		known[d.Key] = d
		owners[d.Owner] = true
		if again[k].Key != d.Key || again[k].Owner != d.Owner || again[k].String() != d.String() {
			t.Errorf("%v, %v of %d, is %v, %v of %d in another run", d, d.Key, d.Owner, again[k], again[k].Key, again[k].Owner)
		}
		switch x := d.Value.(type) {
		case *kernels.Tile[float64]:
			for i := 0; i < x.Rows && x.Cols > 0; i++ {
				add(d, unsafe.Pointer(unsafe.SliceData(x.Row(i))), 8*uintptr(x.Cols))
			}
		case *kernels.Pivots:
			add(d, unsafe.Pointer(unsafe.SliceData(x.Rows)), unsafe.Sizeof(int(0))*uintptr(len(x.Rows)))
		}
	}
	if len(owners) != 16 { // 0 to 5 + 2·5
		t.Errorf("%d owners", len(owners))
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.from, b.from) })
	for i := 1; i < len(rows); i++ {
		if x, y := rows[i-1], rows[i]; x.to > y.from && x.d != y.d {
			t.Errorf("%v and %v are in the same memory", x.d, y.d)
		}
	}
}
