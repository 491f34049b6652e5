package cuda

import (
	"encoding/binary"
	"time"
	"unsafe"

	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// GemmBatched implements [Stream].
func (s *simStream) GemmBatched(typ Type, transA, transB blas.Transpose, m, n, k int, alpha float64, a, b Matrices, beta float64, c Matrices, count int) error {
	const op = "GemmBatched"
	am, an := applied(transA, m, k)
	bm, bn := applied(transB, k, n)
	if err := s.check(op, typ, okTrans(transA) && okTrans(transB), shape{am, an, a.Ld}, shape{bm, bn, b.Ld}, shape{m, n, c.Ld}); err != nil {
		return err
	}
	if err := s.checkBatch(op, alpha, m, n, k, count); err != nil {
		return err
	}
	each := func(at []Matrix, first bool) func() *DeviceError {
		p := gemmCall{op, !first, transA, transB, m, n, k, alpha, beta, at[0], at[1], at[2]}
		return typed(typ, gemmOn[float32](s, p), gemmOn[float64](s, p))
	}
	return s.enqueue(op, func() *DeviceError { return s.batch(op, count, each, a, b, c) })
}

// TrsmBatched implements [Stream].
func (s *simStream) TrsmBatched(typ Type, side blas.Side, uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, m, n int, alpha float64, a, b Matrices, count int) error {
	const op = "TrsmBatched"
	p := triangular{side: side, uplo: uplo, trans: trans, diag: diag, m: m, n: n, alpha: alpha, a: Matrix{0, a.Ld}, from: Matrix{0, b.Ld}, b: Matrix{0, b.Ld}}
	if err := s.triangular(op, typ, p); err != nil {
		return err
	}
	if err := s.checkBatch(op, alpha, m, n, m, count); err != nil {
		return err
	}
	each := func(at []Matrix, first bool) func() *DeviceError {
		p := p
		p.more, p.a, p.from, p.b = !first, at[0], at[1], at[1]
		return typed(typ, triangularOn(op, s, p, hostOf[float32](s).Trsm), triangularOn(op, s, p, hostOf[float64](s).Trsm))
	}
	return s.enqueue(op, func() *DeviceError { return s.batch(op, count, each, a, b) })
}

func (s *simStream) checkBatch(op string, alpha float64, m, n, k, count int) error {
	if alpha == 0 || m == 0 || n == 0 || k == 0 || count < 1 {
		return s.d.misused(op, s.name, codeInvalid, "nothing to do: alpha=%v, m=%d, n=%d, k=%d, count=%d", alpha, m, n, k, count)
	}
	return nil
}

// batch does what each returns for the matrices i of all tables, i from 0 to
// count-1. The tables are read before anything is written.
func (s *simStream) batch(op string, count int, each func(at []Matrix, first bool) func() *DeviceError, tables ...Matrices) *DeviceError {
	at := make([]Matrix, count*len(tables))
	for j, t := range tables {
		addresses, err := s.at(op, t.Table, 8*int64(count))
		if err != nil {
			return err
		}
		if t.Table%8 != 0 {
			return s.d.misused(op, s.name, codeAddress, "misaligned address %#x", t.Table)
		}
		for i := range count {
			at[i*len(tables)+j] = Matrix{Ptr(binary.LittleEndian.Uint64(addresses[8*i:])), t.Ld}
		}
	}
	for i := range count {
		if err := each(at[i*len(tables):][:len(tables)], i == 0)(); err != nil {
			return err
		}
	}
	return nil
}

// launched returns how long a routine on T takes, without its launch if it goes
// with another one.
func launched[T cpu.Element](s *simStream, flops float64, more bool) time.Duration {
	d := s.d.takes(flops, int(unsafe.Sizeof(*new(T))))
	if !more {
		d += s.d.opt.Launch
	}
	return d
}
