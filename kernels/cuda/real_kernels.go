//go:build cuda && linux

package cuda

import (
	_ "embed"
	"unsafe"

	"gorgonia.org/cu"
)

// ptx is the kernels that no library has, as text that the driver compiles for
// the device. It asks for little: compute capability 5.0 and PTX 6.4, of CUDA
// 10.1.
//
//go:embed kernels.ptx
var ptx string

// The kernels' threads, and how many blocks share one vector at most.
const (
	vectorThreads = 256
	vectorBlocks  = 64
)

// compile has the driver compile the kernels.
func (d *real) compile() error {
	var err error
	if d.module, err = cu.LoadData(ptx); err != nil {
		return d.failed("cuModuleLoadData", "", err)
	}
	for typ, name := range map[Type]string{F32: "tessera_copy_vectors_32", F64: "tessera_copy_vectors_64"} {
		if d.vectors[typ], err = d.module.Function(name); err != nil {
			return d.failed("cuModuleGetFunction", "", err)
		}
	}
	return nil
}

// CopyVectors implements [Stream].
func (s *realStream) CopyVectors(typ Type, n, count int, pairs Ptr) error {
	const op = "cuLaunchKernel"
	if n < 0 || count < 0 {
		return s.d.invalid(op, s.name, "%d vectors of %d elements", count, n)
	}
	if n == 0 || count == 0 {
		return s.usable(op)
	}
	at, length := uint64(pairs), uint64(n)
	blocks := min((n+vectorThreads-1)/vectorThreads, vectorBlocks)
	return s.in(op, func() error {
		return s.d.vectors[typ].Launch(count, blocks, 1, vectorThreads, 1, 1, 0, s.s,
			[]unsafe.Pointer{unsafe.Pointer(&at), unsafe.Pointer(&length)})
	})
}
