package csr

import (
	"context"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/scalar"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/csr/internal/simplicial"
	"github.com/tessera-la/tessera/la/csr/internal/supernodal"
)

// columns is a factor that the caller computes column by column.
type columns[T la.Element] struct {
	*simplicial.Factor[T]
	flops float64
}

// columnsFlops is the number of operations for each entry of the factor up to which columns take less time than fronts.
const columnsFlops = 12

// fewOperations reports whether a factor is computed column by column.
func fewOperations(c *supernodal.Columns) bool {
	return c.Flops < alone && c.Flops <= columnsFlops*float64(c.Entries)
}

// columnsMemory returns the memory of a factor that is computed column by column: values and the places of entries, and
// beside them what there is for each row.
func columnsMemory[T la.Element](c *supernodal.Columns) MemoryError {
	size, n := int64(scalar.Size[T]()), int64(len(c.Order))
	return MemoryError{Rows: len(c.Order), Entries: c.Entries, Factor: (size + 12) * c.Entries, Work: (2*size + 24) * n}
}

// factorize implements choleskyFactor.
func (f *columns[T]) factorize(ctx context.Context, _ exec.Runtime, m *supernodal.Matrix, scale float64) error {
	return f.Factorize(m, scale, func() error { return context.Cause(ctx) })
}

// solve implements choleskyFactor.
func (f *columns[T]) solve(_ context.Context, _ exec.Runtime, x []T, nrhs int) error {
	f.Solve(x, nrhs)
	return nil
}

// permutation implements choleskyFactor.
func (f *columns[T]) permutation() (order, inverse []int32) { return f.Order, f.Inverse }

// stats implements choleskyFactor.
func (f *columns[T]) stats() CholeskyStats {
	n := f.Entries()
	return CholeskyStats{Entries: n, Stored: n, Supernodes: len(f.Order), Flops: f.flops}
}
