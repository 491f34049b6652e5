// Command 06-cluster solves a system of equations on several nodes and kills one of them meanwhile.
//
// The nodes are processes of this program on one machine, a driver and three agents, connected by HTTP on the
// loopback address. For several machines only function node would change: it needs certificates
// (docs/cluster.md). The matrix is made, factored and used on the agents, and the driver holds no part of it.
// During the factorization one agent is killed, and the others recompute its data. The solution is equal, bit
// by bit, to that of a single process, and its residual is checked.
//
//	go run ./examples/06-cluster
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tessera-la/tessera/blocked"
	"github.com/tessera-la/tessera/blocked/tiles"
	"github.com/tessera-la/tessera/examples/internal/study"
	runtime "github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/la/engine"
	"github.com/tessera-la/tessera/transport/web"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack"
)

const (
	n, nb  = 1500, 100
	agents = 3
	victim = "agent1"
)

func main() {
	log.SetFlags(0)
	if err := study.Main(drive, node); err != nil {
		log.Fatal(err)
	}
}

// drive is the program of the driver.
func drive() error {
	alone, err := runtime.NewLocal(runtime.Options{Float: true})
	if err != nil {
		return err
	}
	defer alone.Close()
	want, err := solve(alone)
	if err != nil {
		return fmt.Errorf("in one process: %w", err)
	}

	opt, err := node("driver")
	if err != nil {
		return err
	}
	defer opt.Runtime.Close()
	opt.Idle = true  // the agents do the work …
	opt.Owner = true // … each on its own tiles
	driver, err := cluster.NewDriver(opt)
	if err != nil {
		return err
	}
	defer driver.Close()
	processes := map[string]*os.Process{}
	for k := range agents {
		name := fmt.Sprintf("agent%d", k)
		p, end, err := study.Start(name, web.Address(opt.Transport))
		if err != nil {
			return err
		}
		defer end()
		processes[name] = p
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := driver.Await(ctx, agents); err != nil {
		return err
	}
	fmt.Println("nodes:", strings.Join(driver.Nodes(), ", "))

	go func() { // kills an agent in the middle of the factorization
		for done := 0; done < 150; time.Sleep(time.Millisecond) {
			done = 0
			for _, u := range driver.Usage() {
				done += u.Tasks["gemm/f64"]
			}
		}
		fmt.Println(victim, "is killed")
		_ = processes[victim].Kill()
	}()
	got, err := solve(driver)
	if err != nil {
		return fmt.Errorf("on several nodes: %w", err)
	}
	lost := false
	for _, u := range driver.Usage() {
		lost = lost || u.Lost && u.Node == victim
	}
	switch {
	case !lost:
		return errors.New("no agent was lost")
	case !slices.Equal(got, want):
		return errors.New("the solutions differ")
	}
	fmt.Println("the solution has the same bits as that of one process")
	return nil
}

// solve makes a random matrix and a right-hand side on the nodes of a runtime, solves the system by LU and
// checks the residual. The code is the same for one machine.
func solve(rt runtime.Runtime) (x []float64, err error) {
	ctx := context.Background()
	e, err := la.NewEngine(la.Options{Runtime: rt, NB: nb})
	if err != nil {
		return nil, err
	}
	matrix := func(cols int) (*blocked.Matrix[float64], error) {
		return blocked.Distributed[float64](rt, blocked.Full, n, cols, nb)
	}
	a, err := matrix(n)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	b, err := matrix(1)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	// Distribute tiles over agents by columns: LU exchanges rows within a column.
	if err := a.SetLayout(tiles.NewGrid(blocked.Full, n/nb, n/nb, 1, []float64{1, 1, 1}, tiles.Updates), agents); err != nil {
		return nil, err
	}
	random := func(m *blocked.Matrix[float64], seed uint64) error {
		return engine.Run(ctx, e, func(p *blocked.Program[float64]) error { return p.Plrnt(m, seed, 0) })
	}
	if err := errors.Join(random(a, 1), random(b, 2)); err != nil {
		return nil, err
	}
	lu := la.NewLU[float64](e)
	if err := lu.Factorize(a, la.WithContext(ctx), la.InPlace()); err != nil {
		return nil, err
	}
	if err := lu.SolveTo(b, false, b, la.WithContext(ctx), la.InPlace()); err != nil {
		return nil, err
	}
	for i := range n {
		x = append(x, b.At(i, 0))
	}

	r, err := matrix(1) // the residual: the right-hand side, made again, minus A·x
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if err := errors.Join(random(a, 1), random(r, 2)); err != nil {
		return nil, err
	}
	if err := la.Gemm[float64](ctx, e, blas.NoTrans, blas.NoTrans, -1, a, b, 1, r); err != nil {
		return nil, err
	}
	var norms [3]float64
	for k, m := range []*blocked.Matrix[float64]{r, a, b} {
		if norms[k], err = la.NormInPlace(ctx, e, m, lapack.MaxColumnSum); err != nil {
			return nil, err
		}
	}
	residual := norms[0] / (n * norms[1] * norms[2] * 0x1p-53)
	fmt.Printf("‖b−Ax‖ / (n·‖A‖·‖x‖·ε) = %.2g\n", residual)
	if !(residual < 10) {
		return nil, fmt.Errorf("a residual of %v", residual)
	}
	return x, nil
}

// node returns the options of a node with the given name, which knows the addresses of peers.
func node(name string, peers ...string) (opt cluster.Options, err error) {
	// Without TLS a node may listen on the loopback address only.
	if opt.Transport, err = web.New(web.Options{
		Name: name, Listen: "127.0.0.1:0", Plain: true, Peers: peers,
		Greet: 100 * time.Millisecond, Timeout: 3 * time.Second,
	}); err != nil {
		return opt, err
	}
	opt.Ops, opt.Values, opt.Errors = op.NewTable().All(), kernels.Values(), kernels.Errors()
	opt.Runtime, err = runtime.NewLocal(runtime.Options{Workers: 1, Float: true})
	return opt, err
}
