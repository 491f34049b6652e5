//go:build cuda && linux

package cuda

import (
	_ "embed"
	"fmt"
	"math"

	"gorgonia.org/cu"
)

// ptx holds the kernels that no library has, as text that the driver compiles for
// the device. They need compute capability 5.0 and PTX 6.4, of CUDA 10.1.
//
//go:embed kernels.ptx
var ptx string

// vectorThreads is the number of threads of a block in CopyVectors. vectorBlocks is the
// largest number of blocks that share one vector.
const (
	vectorThreads = 256
	vectorBlocks  = 64
)

// kernels.ptx has for each element type
//
//	tessera_copy_vectors   a block of threads, or several, for each vector
//	tessera_upper          a thread for each element
//	tessera_larft          a warp for each row of T, which it computes by itself
//
// All parameters have 64 bits, so that they can be passed as a list of numbers.

// compile makes the driver compile the kernels. The driver caches the result on disk.
func (d *real) compile() error {
	var err error
	if d.module, err = cu.LoadData(ptx); err != nil {
		return d.failed("cuModuleLoadData", "", err)
	}
	for _, k := range []struct {
		name string
		of   *[2]cu.Function
	}{{"copy_vectors", &d.vectors}, {"upper", &d.upper}, {"larft", &d.larft}} {
		for typ, bits := range map[Type]int{F32: 32, F64: 64} {
			if k.of[typ], err = d.module.Function(fmt.Sprintf("tessera_%s_%d", k.name, bits)); err != nil {
				return d.failed("cuModuleGetFunction", "", err)
			}
		}
	}
	return nil
}

// kernel launches x by y blocks of threads, with 64-bit parameters.
func (s *realStream) kernel(f cu.Function, x, y, threads int, params ...uint64) error {
	const op = "cuLaunchKernel"
	if err := s.usable(op); err != nil {
		return err
	}
	return s.d.failed(op, s.name, s.d.current.Launch(s.s, f, x, y, threads, params))
}

// CopyVectors implements [Stream]. Up to vectorBlocks blocks of threads share a long
// vector, since the rows of a tile that are exchanged are few and long.
func (s *realStream) CopyVectors(typ Type, n, count int, pairs Ptr) error {
	const op = "cuLaunchKernel"
	if n < 0 || count < 0 {
		return s.d.invalid(op, s.name, "%d vectors of %d elements", count, n)
	}
	if n == 0 || count == 0 {
		return s.usable(op)
	}
	blocks := min((n+vectorThreads-1)/vectorThreads, vectorBlocks)
	return s.kernel(s.d.vectors[typ], count, blocks, vectorThreads, uint64(pairs), uint64(n))
}

// The modes of the kernel "upper".
const (
	leaveLower = iota
	clearLower
	setUpper
)

// triangle calls the kernel "upper", which writes b from the elements of a on and above
// diagonal d, according to mode. diag holds the bits of the number that setUpper writes
// on the diagonal.
func (s *realStream) triangle(typ Type, m, n, d int, a, b Strided, mode, diag uint64) error {
	const op = "cuLaunchKernel"
	if m < 0 || n < 0 || int64(m)*int64(n) > math.MaxInt32 || b.Row < 1 || b.Col < 1 ||
		mode != setUpper && (a.Row < 1 || a.Col < 1) {
		return s.d.invalid(op, s.name, "a triangle of %d×%d from rows and columns %d and %d apart, to %d and %d", m,
			n, a.Row, a.Col, b.Row, b.Col)
	}
	if m == 0 || n == 0 {
		return s.usable(op)
	}
	const threads = 256
	return s.kernel(s.d.upper[typ], (m*n+threads-1)/threads, 1, threads, uint64(a.Data), uint64(a.Row), uint64(a.Col),
		uint64(b.Data), uint64(b.Row), uint64(b.Col), uint64(m), uint64(n), uint64(d), mode, diag)
}

// CopyUpper implements [Stream].
func (s *realStream) CopyUpper(typ Type, m, n, d int, a, b Strided, clear bool) error {
	mode := uint64(leaveLower)
	if clear {
		mode = clearLower
	}
	return s.triangle(typ, m, n, d, a, b, mode, 0)
}

// SetUpper implements [Stream].
func (s *realStream) SetUpper(typ Type, m, n int, diag float64, a Strided) error {
	bits := math.Float64bits(diag)
	if typ == F32 {
		bits = uint64(math.Float32bits(float32(diag)))
	}
	return s.triangle(typ, m, n, 0, Strided{}, a, setUpper, bits)
}

// Larft implements [Stream]. No row of T depends on another one, so n warps compute them
// without waiting for one another.
func (s *realStream) Larft(typ Type, n int, g Matrix, tau Ptr, t Strided) error {
	const op = "cuLaunchKernel"
	if n < 0 || g.Ld < n || t.Row < 1 || t.Col < 1 {
		return s.d.invalid(op, s.name,
			"a triangle of order %d, rows and columns %d and %d apart, from one with leading dimension %d", n,
			t.Row, t.Col, g.Ld)
	}
	if n == 0 {
		return s.usable(op)
	}
	const warp = 32
	return s.kernel(s.d.larft[typ], n, 1, warp, uint64(g.Data), uint64(g.Ld), uint64(tau),
		uint64(t.Data), uint64(t.Row), uint64(t.Col), uint64(n))
}
