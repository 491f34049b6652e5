// Command 08-cluster factors a matrix on several nodes.
//
// The nodes are goroutines of this process, a driver and two agents with a core each,
// connected by HTTP on the loopback address, or within the process. On several machines
// only node would change: an agent there is a process that calls cluster.Serve. The
// program is what it would be on one machine, but for the engine's runtime. The
// factorizations are compared with those of one node, bit by bit.
//
//	go run ./examples/08-cluster
//	go run ./examples/08-cluster -local
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/cluster"
	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/builtin"
	"github.com/tessera-la/tessera/la"
	"github.com/tessera-la/tessera/transport"
	"github.com/tessera-la/tessera/transport/web"
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
	local := flag.Bool("local", false, "connect the nodes within the process")
	flag.Parse()
	var network connect
	if *local {
		network = transport.NewNetwork().Node
	} else {
		network = loopback()
	}
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

// connect returns the transport of a new node of that name.
type connect func(name string) (transport.Transport, error)

// loopback connects nodes by HTTP. Each knows the address of the first one, and learns
// of the others from it.
func loopback() connect {
	var mu sync.Mutex
	var first []string
	return func(name string) (transport.Transport, error) {
		mu.Lock()
		defer mu.Unlock()
		// Without TLS nodes listen on the loopback address only.
		t, err := web.New(web.Options{
			Name: name, Listen: "127.0.0.1:0", Plain: true, Peers: first,
			Greet:   100 * time.Millisecond, // to find one another at once
			Timeout: 20 * time.Second,       // nodes that share cores may be slow to answer
		})
		if err == nil && first == nil {
			first = []string{web.Address(t)}
		}
		return t, err
	}
}

// node returns what makes a node of a name in a network.
func node(network connect, name string) (opt cluster.Options, err error) {
	if opt.Transport, err = network(name); err != nil {
		return opt, err
	}
	opt.Ops, opt.Values, opt.Errors = builtin.NewTable().All(), kernels.Values(), kernels.Errors()
	opt.Runtime, err = exec.NewLocal(exec.Options{Workers: 1, Float: true})
	return opt, err
}

// agent is what another process would do: it serves until ctx ends.
func agent(ctx context.Context, network connect, name string) error {
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
