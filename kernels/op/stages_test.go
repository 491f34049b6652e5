package op_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// ending is a context that ends when it has been asked a number of times.
type ending struct {
	context.Context
	left int
}

func (c *ending) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestStages: eigenproblems and singular value decompositions tell their stages, and end with the context's error
// whenever the context ends.
func TestStages(t *testing.T) {
	const n, m = 200, 450
	rng := rand.New(rand.NewPCG(11, 12))
	tile := func(rows, cols int) *kernels.Tile[float64] {
		x := &kernels.Tile[float64]{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
		for i := range x.Data {
			x.Data[i] = rng.NormFloat64()
		}
		return x
	}
	square, tall := tile(n, n), tile(m, n)
	scratch := func(rows, cols int) *kernels.Tile[float64] { return tile(rows, cols) }
	run := map[string]func() (a *kernels.Tile[float64], params any, rest []any){
		"syevd values": func() (*kernels.Tile[float64], any, []any) {
			return square, &op.Syevd{Values: true}, []any{scratch(1, n)}
		},
		"syevd vectors": func() (*kernels.Tile[float64], any, []any) {
			return square, &op.Syevd{}, []any{scratch(1, n), scratch(n, n)}
		},
		"syevd values, two stages": func() (*kernels.Tile[float64], any, []any) {
			return square, &op.Syevd{Values: true, Reduction: op.TwoStages}, []any{scratch(1, n)}
		},
		"syevd vectors, two stages": func() (*kernels.Tile[float64], any, []any) {
			return square, &op.Syevd{Reduction: op.TwoStages}, []any{scratch(1, n), scratch(n, n)}
		},
		"gesdd values": func() (*kernels.Tile[float64], any, []any) {
			return square, &op.Gesdd{Values: true}, []any{scratch(1, n)}
		},
		"gesdd values, two stages": func() (*kernels.Tile[float64], any, []any) {
			return square, &op.Gesdd{Values: true, Reduction: op.TwoStages}, []any{scratch(1, n)}
		},
		"gesdd vectors": func() (*kernels.Tile[float64], any, []any) {
			return tall, &op.Gesdd{}, []any{scratch(1, n), scratch(n, m), scratch(n, n)}
		},
		"sygvd": func() (*kernels.Tile[float64], any, []any) {
			b := scratch(n, n)
			for i := range n {
				b.Set(i, i, 10*n)
			}
			return square, &op.Sygvd{}, []any{b, scratch(1, n), scratch(n, n)}
		},
		"geev values": func() (*kernels.Tile[float64], any, []any) { return square, &op.Geev{}, []any{scratch(2, n)} },
		"geev vectors": func() (*kernels.Tile[float64], any, []any) {
			return square, &op.Geev{Left: true, Right: true}, []any{scratch(2, n), scratch(n, n), scratch(n, n)}
		},
	}
	stages := map[string][]string{
		"syevd values":             {"reduction", "values"},
		"syevd vectors":            {"reduction", "divide and conquer", "back-transformation"},
		"syevd values, two stages": {"reduction to band", "bulge chasing", "values"},
		"syevd vectors, two stages": {"reduction to band", "bulge chasing", "divide and conquer",
			"vectors of the band", "back-transformation"},
		"gesdd values":             {"reduction", "values"},
		"gesdd values, two stages": {"reduction to band", "bulge chasing", "values"},
		"gesdd vectors":            {"QR", "reduction", "divide and conquer", "back-transformation"},
		"gesdd vectors, two stages": {"QR", "reduction to band", "bulge chasing", "divide and conquer", "vectors of the band",
			"back-transformation"},
		"sygvd": {"Cholesky", "to standard form", "reduction", "divide and conquer", "back-transformation",
			"from standard form"},
		"geev values":  {"reduction", "QR iteration"},
		"geev vectors": {"reduction", "QR iteration", "eigenvectors"},
	}
	ops := kernels.For[float64](op.NewTable())
	for name, operands := range run {
		const always = 1 << 30
		try := func(questions int) (told op.Stages, left int, err error) {
			a, params, rest := operands()
			copied := *a
			var account op.Account
			copied.Data = append([]float64(nil), a.Data...)
			ctx := &ending{context.Background(), questions}
			call := &versions.Call{Ctx: ctx, Params: params, Args: append([]any{&copied}, rest...), Local: &account,
				Work: new(versions.Workspace)}
			routine, _, _ := strings.Cut(name, " ")
			err = ops.Op(routine).Version("go").Run(call)
			return account.Stages, ctx.left, err
		}
		told, left, err := try(always)
		if err != nil {
			t.Fatal(err)
		}
		if len(told) != len(stages[name]) {
			t.Fatalf("%s: stages %v", name, told)
		}
		for i, s := range told {
			if s.Name != stages[name][i] || s.Time <= 0 || (s.Flops <= 0) != (s.Name == "values" || s.Name == "QR iteration") {
				t.Errorf("%s: stage %d is %v", name, i, s)
			}
		}
		asked := always - left
		if asked < 10 {
			t.Errorf("%s: the context is asked %d times", name, asked)
		}
		for _, questions := range []int{0, 1, asked / 3, asked / 2, asked - 2, asked - 1} {
			if _, left, err := try(questions); !errors.Is(err, context.Canceled) || left < -8 {
				t.Errorf("%s: a context that ends at question %d of %d: %v after %d more", name, questions, asked, err, -left)
			}
		}
	}
}
