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

// MemoryError reports a problem that this process cannot hold.
type MemoryError struct {
	Need float64 // bytes; a float64, since what is asked for may overflow
	Have int64   // bytes that the process can still get
	Of   string  // what leaves it no more
	// Double says that the elements are float64, and Checked that some of the memory is for
	// the verification: both can be done without.
	Double, Checked bool
	// Tiles says that most of it is for what is known of tiles and tasks: larger tiles take less.
	Tiles bool
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("the run needs about %s, and this process can get %s: %s", report.Bytes(e.Need), report.Bytes(float64(e.Have)), e.Of)
}

// ready returns s with a profile. The error is a *MemoryError.
func (s Spec) ready() (Spec, error) {
	if s.Profile == nil {
		s.Profile = new(versions.Profile)
	}
	if s.Distributed {
		return s, nil
	}
	return s, fits(s)
}

// fits returns a *MemoryError if s, as far as its shape is known, needs more memory than this
// process can get now.
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

// TileKnown is how many bytes the driver of distributed matrices takes for what it knows of a tile.
const TileKnown = 1 << 10

// fitsBooks returns a *MemoryError if this process cannot have so many bytes for what is known of
// tiles, which are elsewhere, and of tasks.
func fitsBooks(need float64) error {
	if m := topo.Detect(); m.Available > 0 && need > float64(m.Available) {
		return &MemoryError{Need: need, Have: m.Available, Of: m.AvailableOf, Tiles: true}
	}
	return nil
}

// addresses is what a process can address, as a rule.
const addresses = 1 << 47

// fitsAddresses returns a *MemoryError if there are no addresses for the matrices of a plan of one
// node: those of the caller, and their tiles, of which none takes memory.
func fitsAddresses(s Spec) error {
	if need := 2 * s.bytes(); need > addresses {
		return &MemoryError{Need: need, Have: addresses, Of: "a plan of one node takes addresses for its matrices, although no memory"}
	}
	return nil
}

// books returns the memory that tiles of nb×nb, 0: not known, take beside their elements: for what
// is known of each, half a KiB (measured on one node: 250 to 900 bytes), for the sums of their
// columns in factorizations, and for the priorities of QR's tasks.
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

// priorities returns the memory that those of the tasks of a QR factorization take, which are known
// before the first of them: 4 bytes each. Trees other than the flat one have more tasks.
func priorities(m, n, nb float64) float64 {
	mt, nt := math.Ceil(m/nb), math.Ceil(n/nb)
	k := min(mt, nt) // columns of tiles, of (mt−i)·(nt−i) tasks each
	return 4 * (k*mt*nt - (mt+nt)*k*(k-1)/2 + k*(k-1)*(2*k-1)/6)
}

// bytes returns the memory that s takes, its shape known: its matrices, the operands that the
// tasks of factorizations share packed, and what the workers and the collector take.
//
// What labench OP -n 6000 used on two cores of an EPYC (Zen 5, commit 9a65434), of what this
// foresees, and of the matrices alone, in MB: gemm 915, 971, 864; cholesky 748, 892, 720; lu
// 1500, 1648, 1440; qr 2049, 2253, 2016; without verification cholesky 563, 590, 432; lu 711,
// 741, 576; qr 701, 741, 576.
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
		matrices = max(matrices, 2*a) // what was read, and its copy
	}
	if o.packs {
		matrices += min(max(a/4, some), a) // as blocked.Program bounds it
	}
	return 1.05*matrices + min(some, matrices)
}

// boundMemory has the collector keep the process within the memory that it can get, until the
// function that it returns is called. Otherwise what one run leaves might still be there when
// the next one needs as much.
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
