package loop_test

import (
	"context"
	"fmt"
	"log"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/exec/loop"
)

// The rows of a triangle have unlike lengths: shares of equal numbers of rows would not be
// equal work.
func ExampleFor() {
	rt, err := exec.NewLocal(exec.Options{Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	const n = 1000
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = make([]float64, i+1)
	}
	site := &loop.Site{Name: "fill"} // kept as long as the loop is called
	for range 3 {
		if err := loop.For(context.Background(), rt, n, loop.Options{Site: site}, func(c loop.Chunk) error {
			for i := c.Lo; i < c.Hi; i++ {
				for j := range rows[i] {
					rows[i][j]++
				}
			}
			return nil
		}); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(rows[0][0], rows[n-1][n-1])
	// Output: 3 3
}

func ExampleReduce() {
	rt, err := exec.NewLocal(exec.Options{Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close()
	sum, err := loop.Reduce(context.Background(), rt, 1000, loop.Options{}, loop.Reduction[int]{
		New: func() int { return 0 },
		Add: func(sum, part *int) { *sum += *part },
	}, func(c loop.Chunk, sum *int) error {
		for i := c.Lo; i < c.Hi; i++ {
			*sum += i
		}
		return nil
	})
	fmt.Println(sum, err)
	// Output: 499500 <nil>
}

// A loop on a machine of two sockets with ten cores each: what it costs if the first tenth of
// the items takes as long as all others together.
func ExamplePredict() {
	const n = 100000
	cost := func(c loop.Chunk) (seconds float64) {
		heavy := max(0, min(c.Hi, n/10)-c.Lo)
		return 9e-6*float64(heavy) + 1e-6*float64(c.Len()-heavy)
	}
	locations := make([]int, 20)
	for w := 10; w < 20; w++ {
		locations[w] = 1
	}
	for _, s := range []loop.Scheme{loop.Static, loop.GSS, loop.MFSC} {
		p := loop.Predict(n, locations, loop.Plan{Scheme: s}, loop.Model{Cost: cost})
		fmt.Printf("%v: %v, %d chunks, imbalance %.0f %%\n", s, p.Took, p.Chunks(), 100*p.Imbalance())
	}
	// Output:
	// static: 45ms, 20 chunks, imbalance 80 %
	// gss: 45ms, 178 chunks, imbalance 80 %
	// mfsc: 9.361ms, 246 chunks, imbalance 4 %
}
