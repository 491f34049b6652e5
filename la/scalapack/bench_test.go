package scalapack

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/tessera-la/tessera/blocked"
)

// BenchmarkMove: bytes that Load and Store move in a second, between the arrays of two nodes in
// this process and tiles of 256×256: blocks that are tiles, and small ones.
func BenchmarkMove(b *testing.B) {
	for _, block := range []int{256, 64} {
		for _, n := range []int{4096, 8192} {
			if n > 4096 && testing.Short() {
				continue
			}
			b.Run(fmt.Sprintf("n=%d/mb=%d", n, block), func(b *testing.B) { benchmarkMove(b, n, block) })
		}
	}
}

func benchmarkMove(b *testing.B, n, block int) {
	g := Grid{P: 1, Q: 2}
	d, all := processes(b, g)
	c := shape{m: n, n: n, mb: block, nb: block, tile: 256}
	var x *Array[float64]
	var err error
	for rank, s := range all {
		desc := c.desc(g, rank)
		p, q, there := g.place(rank)
		var local []float64
		if there {
			_, cols := desc.Local(g, p, q)
			local = make([]float64, int(desc.LLD)*cols)
		}
		if x, err = Share(s, "A", desc, local); err != nil {
			b.Fatal(err)
		}
	}
	a, err := blocked.Distributed[float64](d, c.kind, n, n, c.tile)
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	ctx := context.Background()
	if err := errors.Join(x.Load(ctx, d, a), x.Store(ctx, d, a)); err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name string
		move func() error
	}{{"Load", func() error { return x.Load(ctx, d, a) }}, {"Store", func() error { return x.Store(ctx, d, a) }}} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(8 * int64(n) * int64(n))
			for b.Loop() {
				if err := way.move(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
