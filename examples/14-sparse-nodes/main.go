// Command 14-sparse-nodes solves the system of 10-sparse, the temperature of a square plate, on several nodes.
// None of them has the whole matrix.
//
// The nodes are processes of this program on one machine, a driver and two agents, connected by HTTP on the
// loopback address; docs/cluster.md says what several machines need. Each agent makes rows of the matrix
// itself, with op "plate" of this program. Then the rows are divided again, into one block per worker, and the
// system is solved by conjugate gradients. The vectors stay on the agents, too. The solution is equal, bit by
// bit, to that of a single process, and no iteration moves as much as a vector through the driver.
//
//	go run ./examples/14-sparse-nodes
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"slices"
	"time"

	"github.com/tessera-la/tessera/examples/internal/study"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/la/csr"
	"github.com/tessera-la/tessera/la/krylov"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/versions"
)

const (
	side   = 101 // points in a row, without the edges
	n      = side * side
	agents = 2
	blocks = 7 // number of blocks that are made
)

func main() {
	log.SetFlags(0)
	if err := study.Main(drive, node); err != nil {
		log.Fatal(err)
	}
}

// plate is the parameter of op "plate", which makes rows of the matrix.
type plate struct{ First int }

// row calls add for the entries of row r: those of a point and of its neighbours.
func row(r int, add func(col int, v float64)) {
	i, j := r/side, r%side
	add(r, 4)
	for _, d := range [][2]int{{-1, 0}, {1, 0}, {0, -1}, {0, 1}} {
		if k, l := i+d[0], j+d[1]; k >= 0 && k < side && l >= 0 && l < side {
			add(k*side+l, -1)
		}
	}
}

// plateOp is known to all nodes, since they run this program.
var plateOp = &versions.Op{
	Name: "plate", NewParams: func() any { return new(plate) },
	Versions: []versions.Version{{Name: "go", Run: func(call *versions.Call) error {
		first := call.Params.(*plate).First
		return call.Args[0].(*csr.Block).Fill(func(i int, add func(int, float64)) { row(first+i, add) })
	}}},
}

// solve makes the matrix on the nodes of a runtime, or in the memory of one machine, and solves the system.
func solve(ctx context.Context, rt exec.Runtime) (t []float64, result krylov.CGResult, err error) {
	// The number of entries of each block must be known before the block is made.
	sizes, firsts := make([]csr.Size, blocks), make([]int, blocks)
	for b := range blocks {
		firsts[b] = b * n / blocks
		for r := firsts[b]; r < (b+1)*n/blocks; r++ {
			sizes[b].Rows++
			row(r, func(int, float64) { sizes[b].Entries++ })
		}
	}
	made, err := csr.Generate(ctx, rt, n, sizes, plateOp, func(b int) any { return &plate{firsts[b]} })
	if err != nil {
		return nil, result, err
	}
	a, err := made.Rechunk(ctx, 0) // one block for each worker
	if err = errors.Join(err, made.Close()); err != nil {
		return nil, result, err
	}
	defer a.Close()
	t, b := make([]float64, n), make([]float64, n)
	for j := range side {
		b[j] = 100 // the warm edge
	}
	result, err = krylov.CG(ctx, a, t, b, krylov.CGOptions{Tolerance: 1e-9})
	return t, result, err
}

// drive is the program of the driver.
func drive() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	alone, err := exec.NewLocal(exec.Options{Float: true})
	if err != nil {
		return err
	}
	defer alone.Close()
	want, _, err := solve(ctx, alone)
	if err != nil {
		return fmt.Errorf("in one process: %w", err)
	}

	opt, err := node("driver")
	if err != nil {
		return err
	}
	defer opt.Runtime.Close()
	opt.Idle = true  // the agents do the work …
	opt.Owner = true // … each on consecutive blocks
	driver, err := cluster.NewDriver(opt)
	if err != nil {
		return err
	}
	defer driver.Close()
	for k := range agents {
		_, end, err := study.Start(fmt.Sprintf("agent%d", k), web.Address(opt.Transport))
		if err != nil {
			return err
		}
		defer end()
	}
	if err := driver.Await(ctx, agents); err != nil {
		return err
	}
	t, result, err := solve(ctx, driver)
	if err != nil {
		return fmt.Errorf("on several nodes: %w", err)
	}
	bytes, middle := int64(0), t[n/2]
	for _, u := range driver.Usage() {
		if u.Node == "driver" {
			bytes = u.In + u.Out
		}
	}
	each := bytes / int64(result.Iterations)
	fmt.Printf("%d iterations, residual %.1e, %.4f degrees in the middle\n", result.Iterations, result.Residual, middle)
	fmt.Printf("%d bytes for each iteration went through the driver; a vector has %d\n", each, 8*n)
	switch {
	case !slices.Equal(t, want):
		return errors.New("the solutions differ")
	case math.Abs(middle-25) > 1e-3: // by symmetry each edge contributes a quarter
		return fmt.Errorf("%v degrees in the middle", middle)
	case each > 8*n/4:
		return errors.New("vectors went through the driver")
	}
	fmt.Println("the solution has the same bits as that of one process")
	return nil
}

// node returns the options of a node with the given name, which knows the addresses of peers.
func node(name string, peers ...string) (opt cluster.Options, err error) {
	// Without TLS a node may listen on the loopback address only.
	if opt.Transport, err = web.New(web.Options{
		Name: name, Listen: "127.0.0.1:0", Plain: true, Peers: peers,
		Greet: 100 * time.Millisecond, Timeout: 10 * time.Second,
	}); err != nil {
		return opt, err
	}
	opt.Ops = append(csr.Ops(), plateOp)
	opt.Values, opt.Errors = append(kernels.Values(), csr.Values()...), csr.Errors()
	opt.Runtime, err = exec.NewLocal(exec.Options{Workers: 1, Float: true})
	return opt, err
}
