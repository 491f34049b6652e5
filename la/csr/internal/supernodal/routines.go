package supernodal

import (
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/kernels/cpu"
	"gonum.org/v1/gonum/blas"
)

// routines are those of the machine's preferred instruction set. They are behind an interface, and fastest32 and fastest64
// compile them here, once: with the type [cpu.Packed] in a [Factor], every package that factors a sparse matrix would
// compile all of cpu again.
type routines[T scalar.Real] interface {
	cpu.Routines[T]
	Trsv(uplo blas.Uplo, trans blas.Transpose, diag blas.Diag, n int, a []T, lda int, x []T)
	Gemv(trans blas.Transpose, m, n int, alpha T, a []T, lda int, x []T, incX int, beta T, y []T, incY int)
	shared(units int, crew cpu.Crew[T]) cpu.Routines[T]
}

// fastest returns the routines for a core with these caches.
func fastest[T scalar.Real](c cpu.Caches) routines[T] {
	return scalar.Pick[T](any(fastest32), any(fastest64)).(func(cpu.Caches) routines[T])(c)
}

var (
	fastest32 = func(c cpu.Caches) routines[float32] { return packed[float32]{cpu.Fastest[float32](c)} }
	fastest64 = func(c cpu.Caches) routines[float64] { return packed[float64]{cpu.Fastest[float64](c)} }
)

// packed implements routines.
type packed[T scalar.Real] struct{ *cpu.Packed[T] }

func (p packed[T]) shared(units int, crew cpu.Crew[T]) cpu.Routines[T] { return p.Shared(units, crew) }
