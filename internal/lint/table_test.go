package lint

import (
	"strings"
)

// entry says what a package may import beside the standard library. Its tests
// may import more: see testEntry.
type entry struct {
	pkg     string   // path from the module's root; "dir/..." for all below dir
	tessera []string // packages of this module; "..." for all
	third   []string // others' packages; "path/..." for all below path
}

// table is the direction of imports: the diagram in docs/internals/architecture.md,
// line by line. A new package needs a line here, and a new edge needs a
// reason: calls go la → blocked → exec → versions → kernels, and no layer
// calls up.
func table() []entry {
	return []entry{
		{
			pkg: "la",
			tessera: []string{
				"la/engine", "blocked", "blocked/chol", "blocked/eig", "blocked/lu", "blocked/qr", "blocked/tiles", "blocked/file", "exec",
				"kernels", "kernels/op", "kernels/tridiag", "versions", "internal/atomicfile", "internal/problems", "internal/scalar", "internal/transpose", "internal/words",
			},
			third: []string{
				"gonum.org/v1/gonum/blas", "gonum.org/v1/gonum/lapack", "gonum.org/v1/gonum/mat",
				"gonum.org/v1/gonum/blas/gonum", // xSYMV, which memory bounds
			},
		},
		// What la computes with, for engineers; la has other names for some of it.
		// exec/loop for what has no tiles.
		{pkg: "la/engine", tessera: []string{"blocked", "blocked/tiles", "exec", "exec/dispatch", "exec/graph", "exec/loop", "exec/offload", "exec/trace", "kernels", "kernels/op", "versions", "internal/problems", "internal/scalar", "internal/words"}},
		{
			pkg: "la/dropin",
			// blocked to work in the caller's memory, which BLAS says how to
			// share; kernels and versions for problems of one tile, where
			// every allocation counts; kernels/cpu for vectors, which are no tiles;
			// bidiag, schur and tridiag for gonum's parts of eigenvalue problems.
			tessera: []string{"la", "la/engine", "blocked", "blocked/chol", "blocked/lu", "blocked/qr", "kernels", "kernels/bidiag", "kernels/cpu", "kernels/op", "kernels/schur", "kernels/tridiag", "versions", "internal/scalar"},
			third:   []string{"gonum.org/v1/gonum/..."},
		},
		// Sparse matrices stay out of la: their module is for those who have some. What they
		// make for themselves lies in large pages.
		{
			pkg: "la/csr",
			// kernels for the vectors of tasks, exec/graph and versions for these. What keeps the vectors of
			// la/krylov's iterations on nodes does with them what is done there.
			// kernels/cpu and topo for the routines that fit the caches of a core: fronts of a Cholesky factorization
			// are too many and too small to be tiles.
			tessera: []string{"la", "la/krylov", "la/csr/internal/order", "la/csr/internal/simplicial", "la/csr/internal/supernodal", "blocked", "blocked/file", "blocked/parts", "kernels", "kernels/cpu", "exec", "exec/graph", "exec/loop", "versions", "internal/pages", "internal/problems", "internal/scalar", "internal/topo", "internal/vector", "internal/wire", "kernels/cpu/native"},
			third:   []string{"github.com/james-bowman/sparse", "gonum.org/v1/gonum/blas/blas64", "gonum.org/v1/gonum/lapack/gonum", "gonum.org/v1/gonum/mat"},
		},
		// Pure: patterns.
		{pkg: "la/csr/internal/order"},
		// Arithmetic without a runtime.
		{pkg: "la/csr/internal/simplicial", tessera: []string{"la/csr/internal/order", "la/csr/internal/supernodal", "internal/scalar"}},
		{pkg: "la/csr/internal/supernodal", tessera: []string{"la/csr/internal/order", "kernels/cpu", "internal/pages", "internal/scalar"}, third: []string{"gonum.org/v1/gonum/blas"}},
		// Problems that are too many and too small to be tasks: their routines, and the workers.
		{pkg: "la/batch", tessera: []string{"la", "la/engine", "kernels/cpu", "kernels/op", "internal/scalar"}, third: []string{"gonum.org/v1/gonum/blas"}},
		{pkg: "la/krylov", tessera: []string{"la", "internal/vector", "internal/problems", "internal/words"}},
		// Apart from la, for those who have ScaLAPACK.
		{
			// exec/cluster for tasks of several ranks.
			pkg:     "la/scalapack",
			tessera: []string{"blocked", "exec", "exec/cluster", "exec/graph", "kernels", "versions", "internal/scalar", "internal/transpose", "internal/problems"},
			third:   []string{"gonum.org/v1/gonum/blas"},
		},
		{pkg: "la/scalapack/internal/netlib"},
		// Apart from la, as exec/sim brings the modules of several nodes.
		{pkg: "la/plan", tessera: []string{"la", "exec", "exec/sim"}},
		{
			pkg: "blocked/tiles",
			// topo for the NUMA nodes on which tiles are to be, pages for their memory. exec for matrices
			// that a runtime keeps on its nodes.
			tessera: []string{"kernels", "kernels/op", "kernels/cpu/isa", "kernels/cpu/native", "exec", "versions", "internal/pages", "internal/scalar", "internal/topo", "internal/transpose", "internal/problems", "internal/words"},
			third: []string{
				"gonum.org/v1/gonum/blas", "gonum.org/v1/gonum/lapack", "gonum.org/v1/gonum/mat",
			},
		},
		{
			pkg:     "blocked",
			tessera: []string{"blocked/tiles", "blocked/internal/submit", "kernels", "kernels/op", "exec", "exec/graph", "versions", "internal/scalar"},
			third:   []string{"gonum.org/v1/gonum/blas"},
		},
		{
			pkg: "blocked/parts",
			// loop for what goes through the rows of partitions.
			tessera: []string{"blocked", "blocked/tiles", "blocked/internal/submit", "kernels/op", "exec", "exec/graph", "exec/loop", "versions", "internal/scalar"},
			third: []string{
				"gonum.org/v1/gonum/blas",
				"golang.org/x/sys/unix", // to know on which NUMA node memory is
			},
		},
		{pkg: "blocked/internal/submit", tessera: []string{"blocked/tiles", "exec", "exec/graph", "kernels", "kernels/op", "versions", "internal/scalar"}, third: []string{"gonum.org/v1/gonum/blas"}},
		// Algorithms by family, on a Program.
		{pkg: "blocked/chol", tessera: []string{"blocked", "blocked/internal/submit", "exec/graph", "kernels", "kernels/op"}, third: []string{"gonum.org/v1/gonum/blas"}},
		{pkg: "blocked/lu", tessera: []string{"blocked", "blocked/internal/submit", "blocked/tiles", "exec/graph", "kernels", "kernels/op", "versions", "internal/scalar"}, third: []string{"gonum.org/v1/gonum/blas"}},
		{pkg: "blocked/qr", tessera: []string{"blocked", "blocked/internal/submit", "blocked/tiles", "exec", "exec/graph", "kernels", "kernels/op", "versions", "internal/words"}, third: []string{"gonum.org/v1/gonum/blas"}},
		{pkg: "blocked/eig", tessera: []string{"blocked", "blocked/internal/submit", "blocked/tiles", "exec", "exec/graph", "kernels/op", "versions"}, third: []string{"gonum.org/v1/gonum/blas"}},
		{pkg: "blocked/internal/blockedtest", tessera: []string{"blocked", "exec", "exec/cluster", "exec/cluster/clustertest", "exec/graph", "kernels", "kernels/op", "transport", "internal/matgen"}, third: []string{"gonum.org/v1/gonum/blas", "go.uber.org/goleak"}},
		// x/sys to map large files; kernels and versions for the values in saved states; mat for ReadDense.
		{
			pkg: "blocked/file", tessera: []string{"blocked", "blocked/lu", "blocked/qr", "blocked/tiles", "kernels", "versions", "internal/atomicfile", "internal/scalar", "internal/words"},
			third: []string{"gonum.org/v1/gonum/blas", "gonum.org/v1/gonum/mat", "golang.org/x/sys/unix"},
		},
		// The contract: no arithmetic, no device. tridiag for the error of ops that iterate.
		{pkg: "kernels", tessera: []string{"kernels/tridiag", "versions", "internal/pages", "internal/scalar", "internal/wire"}},
		{
			pkg: "kernels/op",
			// topo for the sizes of the caches
			tessera: []string{"kernels", "kernels/cpu", "kernels/cpu/isa", "kernels/cpu/native", "kernels/cuda", "kernels/bidiag", "kernels/schur", "kernels/tridiag", "versions", "internal/scalar", "internal/topo"},
			third:   []string{"gonum.org/v1/gonum/blas"},
		},
		{
			pkg: "kernels/kerneltest",
			// tridiag for what comes before an op: halves and roots of a merge.
			tessera: []string{"kernels", "kernels/op", "kernels/tridiag", "versions", "internal/dot2", "internal/scalar", "internal/topo"},
			third:   []string{"gonum.org/v1/gonum/blas/...", "gonum.org/v1/gonum/lapack/..."},
		},
		{pkg: "kernels/kerneltest/traffic", tessera: []string{"versions"}},
		{
			pkg:     "kernels/cpu",
			tessera: []string{"kernels/cpu/avx2", "kernels/cpu/isa", "kernels/cpu/native", "internal/scalar", "internal/transpose"},
			third:   []string{"gonum.org/v1/gonum/blas", "gonum.org/v1/netlib/..."},
		},
		// The list of instruction sets: a folder each. topo for what the processor has.
		{pkg: "kernels/cpu/native", tessera: []string{"kernels/cpu/avx2", "kernels/cpu/avx512", "kernels/cpu/isa", "kernels/cpu/neon", "internal/topo"}},
		{pkg: "kernels/cpu/avx2", tessera: []string{"kernels/cpu/isa"}},
		{pkg: "kernels/cpu/avx512", tessera: []string{"kernels/cpu/avx2", "kernels/cpu/isa"}}, // avx2 for what memory bounds
		{pkg: "kernels/cpu/neon", tessera: []string{"kernels/cpu/isa"}},
		{pkg: "kernels/cpu/neon/internal/gen"},
		{pkg: "kernels/tridiag", tessera: []string{"internal/scalar"}},                   // the arithmetic; products are others'
		{pkg: "kernels/bidiag", tessera: []string{"kernels/tridiag", "internal/scalar"}}, // the secular equation is the same
		// cpu for the products and rotations, which are most of the work; tridiag for rotations that are accurate.
		{pkg: "kernels/schur", tessera: []string{"kernels/cpu", "kernels/tridiag", "internal/scalar"}, third: []string{"gonum.org/v1/gonum/blas"}},
		{pkg: "kernels/cpu/isa", tessera: []string{"internal/scalar"}},
		{pkg: "kernels/cpu/internal/gen"},
		{
			pkg: "kernels/cuda",
			// cpu for the simulated device, which computes with the
			// fastest routines of this machine; nvidia for the real ones.
			tessera: []string{"versions", "kernels/cpu", "kernels/cuda/internal/nvidia", "internal/scalar", "internal/words"},
			third:   []string{"gorgonia.org/cu/...", "gonum.org/v1/gonum/blas"},
		},
		{
			// What has to be in C, so that the rest does without.
			pkg:   "kernels/cuda/internal/nvidia",
			third: []string{"gorgonia.org/cu/...", "gonum.org/v1/gonum/blas"},
		},
		{pkg: "versions", tessera: []string{"internal/atomicfile", "internal/filelock", "internal/pages", "internal/problems", "internal/words"}},

		{
			pkg:     "exec",
			tessera: []string{"exec/graph", "exec/dispatch", "exec/offload", "exec/trace", "versions", "internal/topo", "internal/problems"},
		},
		{pkg: "exec/graph", tessera: []string{"internal/words"}},
		// versions for the expected times of tasks.
		{pkg: "exec/dispatch", tessera: []string{"exec/graph", "versions", "internal/words", "internal/heap"}},
		{pkg: "exec/offload", tessera: []string{"exec/graph", "versions"}},
		// cbor for messages. Programs that run on one machine do not import it.
		{
			pkg:     "exec/cluster",
			tessera: []string{"exec", "exec/graph", "exec/trace", "exec/dispatch", "exec/internal/core", "versions", "transport", "internal/problems"},
			third:   []string{"github.com/fxamacker/cbor/v2"},
		},
		// Pure: exec/cluster and exec/sim drive it. Of transport it has the names of values.
		{pkg: "exec/internal/core", tessera: []string{"exec/graph", "exec/dispatch", "versions", "transport"}},
		{pkg: "exec/cluster/internal/faulty", tessera: []string{"transport", "versions", "internal/words"}}, // for tests
		{pkg: "exec/loop", tessera: []string{"exec", "exec/graph", "versions", "internal/problems", "internal/heap", "internal/words"}},
		{
			pkg: "exec/sim",
			// cluster for the options of a driver.
			tessera: []string{"exec", "exec/graph", "exec/trace", "exec/dispatch", "exec/offload", "exec/cluster", "exec/internal/core", "versions", "internal/problems", "internal/heap"},
		},
		// toml for the files. Programs that describe machines themselves do not import it.
		{pkg: "exec/sim/machinefile", tessera: []string{"exec/sim", "internal/tomltext"}, third: []string{"github.com/BurntSushi/toml"}},
		{pkg: "exec/sim/runfile", tessera: []string{"exec/sim", "exec/dispatch"}},
		{pkg: "transport", tessera: []string{"versions"}},
		{pkg: "transport/web/certs", tessera: []string{"internal/atomicfile"}},
		{pkg: "transport/web", tessera: []string{"transport", "versions", "internal/listen", "internal/problems"}, third: []string{"github.com/valyala/fasthttp"}},
		{pkg: "transport/mpi", tessera: []string{"transport", "versions", "internal/problems", "transport/mpi/internal/libmpi"}},
		// What has to be in C.
		{pkg: "transport/mpi/internal/libmpi"},
		{pkg: "transport/transporttest", tessera: []string{"transport", "versions"}},
		{pkg: "exec/trace", tessera: []string{"exec/graph"}}, // whose edges and tasks it records
		{pkg: "exec/monitor", tessera: []string{"exec/trace", "internal/listen"}},

		{pkg: "internal/topo", third: []string{"github.com/klauspost/cpuid/v2", "golang.org/x/sys/unix"}},
		{pkg: "internal/atomicfile"},
		{pkg: "internal/filelock", third: []string{"golang.org/x/sys/windows"}},
		{pkg: "internal/pages", third: []string{"golang.org/x/sys/unix"}},
		{pkg: "internal/transpose"},
		{pkg: "internal/wire"},
		{pkg: "internal/problems"},
		{pkg: "internal/words"},
		{pkg: "internal/heap"},
		{pkg: "internal/sorted"}, // for tests
		{pkg: "internal/vector"},
		{pkg: "internal/dot2"}, // for residuals
		{pkg: "internal/peak", tessera: []string{"kernels/cpu/native", "internal/scalar", "internal/topo"}},
		{pkg: "internal/matgen", tessera: []string{"internal/scalar"}},
		{pkg: "internal/listen"},
		{pkg: "internal/tomltext", third: []string{"github.com/BurntSushi/toml"}},
		{pkg: "exec/cluster/clustertest", tessera: []string{"exec", "exec/cluster", "transport"}},
		// Which element type T is: everybody may ask.
		{pkg: "internal/scalar", third: []string{"gonum.org/v1/gonum/blas"}},
		{pkg: "internal/lint"},

		// What command lines of programs share: flags, errors, reports, pictures. No library imports them.
		{pkg: "internal/cli", tessera: []string{"internal/atomicfile", "internal/report", "internal/topo"}, third: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"}},
		{pkg: "internal/report", tessera: []string{"internal/quiet", "internal/topo"}, third: []string{"golang.org/x/sys/unix"}},
		{pkg: "internal/plotting", tessera: []string{"internal/cli"}, third: []string{"gonum.org/v1/plot/..."}},
		{pkg: "internal/quiet", tessera: []string{"internal/topo"}},
		{pkg: "internal/origin", tessera: []string{"internal/topo"}},

		// What tests of several packages share.
		{pkg: "cmd/labench/internal/labtest", tessera: []string{"internal/report"}, third: []string{"github.com/google/go-cmp/cmp", "go.uber.org/goleak"}},
		// The heavy modules stay in programs: an importer of la gets none.
		{pkg: "cmd/...", tessera: []string{"..."}, third: programModules()},
		{pkg: "examples/...", tessera: []string{"..."}, third: programModules()},
	}
}

func programModules() []string {
	return []string{
		"gonum.org/v1/gonum/...", "gonum.org/v1/netlib/...", "gonum.org/v1/plot/...", "github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/BurntSushi/toml",
		"github.com/sbinet/npyio/...", "golang.org/x/sys/...", "github.com/james-bowman/sparse", "github.com/valyala/fasthttp",
	}
}

// testEntry is what tests may import beside what their package may, and
// everything below it.
func testEntry() entry {
	return entry{
		// kernels/op for kernels to run; exec/loop for loops beside tasks; kernels/cuda for simulated devices with
		// little memory; exec/cluster, transport and clustertest for several nodes, and exec/monitor for
		// the page of these; exec/sim, which decides as exec/cluster does; la/csr and
		// la/krylov for one another; netlib for what la/scalapack is compared with; exec, exec/graph and kernels for
		// the tasks of transport/mpi.
		tessera: []string{"exec", "exec/graph", "kernels", "la/csr", "la/krylov", "la/scalapack/internal/netlib", "exec/cluster", "exec/loop", "exec/sim", "exec/monitor", "transport", "exec/cluster/internal/faulty", "kernels/kerneltest", "kernels/kerneltest/traffic", "transport/transporttest", "transport/web", "transport/web/certs", "transport/mpi", "kernels/op", "kernels/cuda", "exec/cluster/clustertest", "blocked/internal/blockedtest", "blocked/chol", "blocked/lu", "blocked/qr", "internal/dot2", "internal/matgen", "internal/peak", "internal/sorted", "internal/topo"},
		third: []string{
			"github.com/james-bowman/sparse", "gonum.org/v1/gonum/...", "github.com/google/go-cmp/...", "go.uber.org/goleak", "pgregory.net/rapid",
			"gonum.org/v1/netlib/...", // what ours is measured against
			"github.com/sbinet/npyio/...", "golang.org/x/sys/...", "github.com/klauspost/cpuid/v2",
		},
	}
}

// find returns the line of the table for a package, or nil.
func find(table []entry, pkg string) *entry {
	for i := range table {
		if matches(table[i].pkg, pkg) {
			return &table[i]
		}
	}
	return nil
}

// matches reports whether pattern, which may end in "/..." or be "...", names
// p.
func matches(pattern, p string) bool {
	prefix, wild := strings.CutSuffix(pattern, "...")
	if !wild {
		return pattern == p
	}
	return prefix == "" || p == strings.TrimSuffix(prefix, "/") || strings.HasPrefix(p, prefix)
}

func anyMatches(patterns []string, p string) bool {
	for _, pattern := range patterns {
		if matches(pattern, p) {
			return true
		}
	}
	return false
}

// below returns the packages of this module that pkg may depend on, directly
// or not.
func below(table []entry, pkg string) []string {
	var all []string
	seen := map[string]bool{pkg: true}
	for todo := []string{pkg}; len(todo) > 0; {
		e := find(table, todo[0])
		todo = todo[1:]
		if e == nil {
			continue
		}
		for _, p := range e.tessera {
			if !seen[p] {
				seen[p] = true
				all = append(all, p)
				todo = append(todo, p)
			}
		}
	}
	return all
}
