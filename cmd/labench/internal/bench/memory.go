package bench

import (
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"

	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
	"github.com/tessera-la/tessera/versions"
)

// MemoryError reports a problem that does not fit into the memory of this process.
type MemoryError struct {
	Need float64 // bytes; a float64, since the problem may be so large that an int overflows
	Have int64   // bytes that the process can still allocate
	Of   string  // what limits the memory
	// Double says that the elements are float64, and Checked that some of the memory is for the verification.
	// The user can avoid both.
	Double, Checked bool
	// Tiles says that most of the memory is metadata of tiles and tasks: larger tiles need less.
	Tiles bool
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("the run needs about %s, and this process can get %s: %s", report.Bytes(e.Need), report.Bytes(float64(e.Have)), e.Of)
}

// ready returns s with defaults, and checks its memory. The error is a *MemoryError.
func (s Spec) ready() (Spec, error) {
	if s.Profile == nil {
		s.Profile = new(versions.Profile)
	}
	if s.Distributed {
		return s, nil
	}
	return s, fits(s)
}

// fits returns a *MemoryError if s, as far as its shape is known, needs more memory than this process can get
// now.
func fits(s Spec) error {
	m := topo.Detect()
	matrices, books := s.bytes(), s.books(s.NB)
	need := matrices + books
	if m.Available == 0 || need <= float64(m.Available) {
		return nil
	}
	if e := (&MemoryError{Need: need, Have: m.Available, Of: m.AvailableOf, Tiles: true}); books > matrices {
		return e
	}
	e := &MemoryError{Need: need, Have: m.Available, Of: m.AvailableOf, Double: s.Type == "f64"}
	if s.Verify {
		s.Verify = false
		e.Checked = s.bytes() < matrices
	}
	return e
}

// TileKnown is how many bytes of metadata the driver needs for a tile of distributed matrices.
const TileKnown = 1 << 10

// fitsBooks returns a *MemoryError if this process cannot allocate need bytes of metadata of tasks and of tiles
// that other nodes hold.
func fitsBooks(need float64) error {
	if m := topo.Detect(); m.Available > 0 && need > float64(m.Available) {
		return &MemoryError{Need: need, Have: m.Available, Of: m.AvailableOf, Tiles: true}
	}
	return nil
}

// addresses is the usual size of a process's address space.
const addresses = 1 << 47

// fitsAddresses returns a *MemoryError if the address space cannot hold the matrices of a plan of one node:
// those of the caller and their tiles. They take no memory.
func fitsAddresses(s Spec) error {
	if need := 2 * s.bytes(); need > addresses {
		return &MemoryError{Need: need, Have: addresses, Of: "a plan of one node takes addresses for its matrices, although no memory"}
	}
	return nil
}

// books returns the memory that metadata of tiles of nb×nb take, besides their elements; nb is 0 if unknown.
// That is half a KiB for each tile (measured on one node: 250 to 900 bytes), the sums of columns in
// factorizations, and the priorities of QR's tasks.
func (s Spec) books(nb int) float64 {
	if nb < 1 {
		return 0
	}
	b := float64(nb)
	m, n, _ := s.floats()
	o := find(s.Op)
	all := TileKnown / 2 * o.elements(s) / (b * b)
	if o.packs {
		all += 8 * m * n / b
	}
	if s.Op == "qr" {
		all += priorities(m, n, b)
	}
	return all
}

// priorities returns the memory of the priorities of a QR factorization's tasks, which are computed before the
// first task: 4 bytes each. Trees other than the flat one have more tasks.
func priorities(m, n, nb float64) float64 {
	mt, nt := math.Ceil(m/nb), math.Ceil(n/nb)
	k := min(mt, nt) // columns of tiles; column i has (mt−i)·(nt−i) tasks
	return 4 * (k*mt*nt - (mt+nt)*k*(k-1)/2 + k*(k-1)*(2*k-1)/6)
}

// bytes returns the memory that s needs; its shape is known. It counts the matrices, the packed operands that
// tasks of factorizations share, and the memory of the workers and the garbage collector.
//
// Measured with labench OP -n 6000 on two cores of an EPYC (Zen 5, commit 9a65434). The numbers are used,
// predicted, and matrices only, in MB: gemm 915, 971, 864; cholesky 748, 892, 720; lu 1500, 1648, 1440; qr
// 2049, 2253, 2016; without verification cholesky 563, 590, 432; lu 711, 741, 576; qr 701, 741, 576.
func (s Spec) bytes() float64 {
	const some = 64 << 20
	size := 8.0
	if s.Type == "f32" {
		size = 4
	}
	o := find(s.Op)
	m, n, k := s.floats()
	a := size * map[string]float64{"m": m, "n": n}[o.rows] * map[string]float64{"m": m, "n": n, "k": k}[o.cols]
	matrices := size * o.elements(s)
	if s.Input != "" {
		matrices = max(matrices, 2*a) // the matrix that was read, and its copy
	}
	if o.packs {
		matrices += min(max(a/4, some), a) // the bound of blocked.Program
	}
	return 1.05*matrices + min(some, matrices)
}

// boundMemory sets the garbage collector's limit to the memory that this process can get, until restore is
// called. Otherwise garbage of one run might still be there when the next run needs as much.
func boundMemory() (restore func()) {
	m := topo.Detect()
	if m.Available == 0 {
		return func() {}
	}
	mapped := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(mapped)
	used := int64(mapped[0].Value.Uint64() - mapped[1].Value.Uint64())
	before := debug.SetMemoryLimit(-1)
	limit := used + m.Available - m.Available/50
	if m.Available > math.MaxInt64-used || limit > before {
		return func() {}
	}
	debug.SetMemoryLimit(limit)
	return func() { debug.SetMemoryLimit(before) }
}
