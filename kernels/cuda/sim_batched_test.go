package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"gonum.org/v1/gonum/blas"
)

// table uploads the addresses of matrices.
func (b bench[T]) table(of []Matrix) Matrices {
	b.t.Helper()
	var addresses []byte
	for _, m := range of {
		addresses = binary.LittleEndian.AppendUint64(addresses, uint64(m.Data))
	}
	return Matrices{upload(b.t, b.d, b.s, addresses), of[0].Ld}
}

// alike returns count matrices of one shape and leading dimension, on the host
// and on the device.
func (b bench[T]) alike(rnd *rand.Rand, m, n int, uplo blas.Uplo, count int) (host []columns[T], device []Matrix) {
	b.t.Helper()
	for len(host) < count {
		c := randomColumns[T](rnd, m, n, uplo)
		if len(host) > 0 && c.ld != host[0].ld {
			continue
		}
		host, device = append(host, c), append(device, b.up(c))
	}
	if err := b.s.Synchronize(); err != nil { // the caller may change what is on the host
		b.t.Fatal(err)
	}
	return host, device
}

func (b bench[T]) gemmBatched(rnd *rand.Rand, ta, tb blas.Transpose, m, n, k int) {
	b.t.Helper()
	const count = 3
	am, an := applied(ta, m, k)
	bm, bn := applied(tb, k, n)
	x, px := b.alike(rnd, am, an, 0, count)
	y, py := b.alike(rnd, bm, bn, 0, count)
	z, pz := b.alike(rnd, m, n, 0, count)
	x[2], px[2] = x[0], px[0] // what is read may be shared
	for _, beta := range [...]float64{-2, 0} {
		if beta == 0 { // then C is not read
			for i := range z {
				for q := range z[i].x {
					z[i].x[q] = nan[T]()
				}
				pz[i] = b.up(z[i])
			}
		}
		err := b.s.GemmBatched(b.typ, ta, tb, m, n, k, 0.5, b.table(px), b.table(py), beta, b.table(pz), count)
		for i := range count {
			prod := product(k, x[i].full(ta, 0, 0), y[i].full(tb, 0, 0))
			b.same(fmt.Sprintf("gemmBatched %c%c m=%d n=%d k=%d beta=%v, %d", ta, tb, m, n, k, beta, i), err, pz[i], z[i], all,
				func(r, c int) float64 {
					if beta == 0 {
						return 0.5 * prod(r, c)
					}
					return 0.5*prod(r, c) + beta*z[i].at(r, c)
				})
		}
	}
}

func (b bench[T]) trsmBatched(rnd *rand.Rand, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int) {
	b.t.Helper()
	const count = 3
	o := order(side, m, n)
	a, pa := b.alike(rnd, o, o, uplo, count)
	x, px := b.alike(rnd, m, n, 0, count)
	for i := range a {
		for q := range o {
			for r := range o {
				a[i].x[q+r*a[i].ld] /= 4
			}
			a[i].x[q*(a[i].ld+1)] = T(4 + rnd.Float64())
		}
		pa[i] = b.up(a[i])
	}
	a[1], pa[1] = a[0], pa[0]
	for i := range count {
		op := a[i].full(trans, uplo, diag)
		right := columns[T]{m, n, x[i].ld, append([]T(nil), x[i].x...)}
		for c := range n {
			for r := range m {
				if side == blas.Left {
					right.x[r+c*right.ld] = T(product(o, op, x[i].at)(r, c) / 2)
				} else {
					right.x[r+c*right.ld] = T(product(o, x[i].at, op)(r, c) / 2)
				}
			}
		}
		px[i] = b.up(right)
	}
	err := b.s.TrsmBatched(b.typ, side, uplo, trans, diag, m, n, 2, b.table(pa), b.table(px), count)
	for i := range count {
		b.same(fmt.Sprintf("trsmBatched %c%c%c%c m=%d n=%d, %d", side, uplo, trans, diag, m, n, i), err, px[i], x[i], all, x[i].at)
	}
}

// TestSimBatched: a batch is launched once, and what makes no sense is refused.
func TestSimBatched(t *testing.T) { synctest.Test(t, simBatched) }

func simBatched(t *testing.T) {
	const launch, count = 60 * time.Millisecond, 5
	d, err := NewSimulated(SimOptions{Launch: launch})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	b := bench[float64]{t, d, s, F64}
	rnd := rand.New(rand.NewPCG(1, 9))
	_, x := b.alike(rnd, 4, 4, 0, count)
	_, y := b.alike(rnd, 4, 4, 0, count)
	tx, ty := b.table(x), b.table(y)
	start := time.Now()
	err = errors.Join(s.GemmBatched(F64, blas.NoTrans, blas.NoTrans, 4, 4, 4, 1, tx, tx, 0, ty, count), s.Synchronize())
	if took := time.Since(start); err != nil || took < launch || took >= count*launch {
		t.Errorf("%d products took %v, of which a launch is %v: %v", count, took, launch, err)
	}
	if n := d.Stats().Calls["GemmBatched"]; n != 1 {
		t.Errorf("%d calls", n)
	}
	for op, solve := range map[string]func(a, b Matrix) error{
		"Trsm": func(a, b Matrix) error {
			return s.Trsm(F64, blas.Left, blas.Lower, blas.NoTrans, blas.Unit, 4, 4, 1, a, b)
		},
		"Trmm": func(a, b Matrix) error {
			return s.Trmm(F64, blas.Left, blas.Lower, blas.NoTrans, blas.Unit, 4, 4, 1, a, b, b)
		},
	} {
		start := time.Now()
		if err := errors.Join(solve(x[0], y[0]), s.Synchronize()); err != nil || time.Since(start) < launch {
			t.Errorf("%s alone took %v, less than a launch: %v", op, time.Since(start), err)
		}
	}
	for _, err := range []error{
		s.GemmBatched(F64, blas.NoTrans, blas.NoTrans, 4, 4, 4, 0, tx, tx, 0, ty, count),
		s.GemmBatched(F64, blas.NoTrans, blas.NoTrans, 4, 4, 0, 1, tx, tx, 0, ty, count),
		s.GemmBatched(F64, blas.NoTrans, blas.NoTrans, 4, 4, 4, 1, tx, tx, 0, ty, 0),
		s.GemmBatched(F64, blas.NoTrans, blas.NoTrans, 4, 4, 4, 1, Matrices{tx.Table, 3}, tx, 0, ty, count),
		s.TrsmBatched(F64, blas.Left, blas.Lower, blas.NoTrans, blas.Unit, 4, 4, 0, tx, ty, count),
		s.TrsmBatched(F64, blas.Left, 0, blas.NoTrans, blas.Unit, 4, 4, 1, tx, ty, count),
	} {
		if e := (*DeviceError)(nil); !errors.As(err, &e) || e.Lost {
			t.Errorf("got %v", err)
		}
	}
	if err := s.GemmBatched(F64, blas.NoTrans, blas.NoTrans, 4, 4, 4, 1, Matrices{tx.Table + 4, tx.Ld}, tx, 0, ty, count-1); err != nil {
		t.Error(err)
	}
	if e := (*DeviceError)(nil); !errors.As(s.Synchronize(), &e) || !e.Lost {
		t.Errorf("a table at an odd address: %v", e)
	}
	if d.Close() == nil {
		t.Error("the misuses were not kept")
	}
}
