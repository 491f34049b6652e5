// Command 08-cluster factors a matrix on several nodes.
//
// The nodes are goroutines of this process, a driver and two agents with a core each,
// connected by the in-process transport. The program is what it would be on one
// machine: only the engine's runtime is another one. The factorizations are compared
// with those of one node, bit by bit.
//
//	go run ./examples/08-cluster
package main

import (
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/transport"
	"gonum.org/v1/gonum/blas"
)

const n, nb = 1200, 150

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	network := transport.NewNetwork()
	ctx, stop := context.WithCancel(context.Background())
	for i := range 2 {
		done := make(chan error, 1)
		go func() { done <- agent(ctx, network, fmt.Sprintf("agent%d", i)) }()
		defer func() { <-done }()
	}
	defer stop()

	opt, err := node(network, "driver")
	if err != nil {
		return err
	}
	defer opt.Runtime.Close()
	opt.Idle = true // the agents do the work
	driver, err := cluster.NewDriver(opt)
	if err != nil {
		return err
	}
	defer driver.Close()
	if err := driver.Await(ctx, 2); err != nil {
		return err
	}
	fmt.Println("nodes:", driver.Nodes())

	many, err := la.NewEngine(la.Options{Runtime: driver, NB: nb, Direct: -1})
	if err != nil {
		return err
	}
	defer many.Close()
	one, err := la.NewEngine(la.Options{Static: true, NB: nb, Direct: -1})
	if err != nil {
		return err
	}
	defer one.Close()
	return compare(one, many)
}

// node returns what makes a node of a name in a network.
func node(network *transport.Network, name string) (opt cluster.Options, err error) {
	if opt.Transport, err = network.Node(name); err != nil {
		return opt, err
	}
	opt.Ops, opt.Values, opt.Errors = builtin.NewTable().All(), kernels.Values(), kernels.Errors()
	opt.Runtime, err = exec.NewLocal(exec.Options{Workers: 1, Float: true})
	return opt, err
}

// agent is what another process would do: it serves until ctx ends.
func agent(ctx context.Context, network *transport.Network, name string) error {
	opt, err := node(network, name)
	if err != nil {
		return err
	}
	defer opt.Runtime.Close()
	return cluster.Serve(ctx, opt)
}

// compare factors and solves on both engines.
func compare(one, many *la.Engine) error {
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := random(rng, n, n), random(rng, n, 10)
	g := random(rng, n, n)
	if err := la.Gemm[float64](context.Background(), one, blas.NoTrans, blas.Trans, 1, a, a, 0, g); err != nil {
		return err
	}
	for i := range n {
		g.Data[i*n+i] += n
	}
	spd := la.Symmetric[float64]{N: n, Stride: n, Uplo: blas.Upper, Data: g.Data}
	for _, f := range []struct {
		name  string
		solve func(e *la.Engine, x la.General[float64]) error
	}{
		{"Cholesky", func(e *la.Engine, x la.General[float64]) error {
			c := la.NewCholesky[float64](e)
			if err := c.Factorize(spd); err != nil {
				return err
			}
			return c.SolveTo(x, b)
		}},
		{"LU", func(e *la.Engine, x la.General[float64]) error {
			f := la.NewLU[float64](e)
			if err := f.Factorize(a); err != nil {
				return err
			}
			return f.SolveTo(x, false, b)
		}},
		{"QR", func(e *la.Engine, x la.General[float64]) error {
			// By itself the tree depends on the number of workers, and the bits with it.
			q, err := la.NewQRWith[float64](e, la.QROptions{Tree: la.TreeGreedy})
			if err != nil {
				return err
			}
			if err := q.Factorize(a); err != nil {
				return err
			}
			return q.SolveTo(x, false, b)
		}},
	} {
		want, got := random(rng, n, 10), random(rng, n, 10)
		if err := f.solve(one, want); err != nil {
			return fmt.Errorf("%s on one node: %w", f.name, err)
		}
		start := time.Now()
		if err := f.solve(many, got); err != nil {
			return fmt.Errorf("%s on three nodes: %w", f.name, err)
		}
		if !slices.Equal(got.Data, want.Data) {
			return fmt.Errorf("%s: the solutions differ", f.name)
		}
		fmt.Printf("%-8s the same bits, %v\n", f.name, time.Since(start).Round(time.Millisecond))
	}
	return nil
}

func random(rng *rand.Rand, rows, cols int) la.General[float64] {
	a := la.General[float64]{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
	for i := range a.Data {
		a.Data[i] = rng.NormFloat64()
	}
	return a
}
