package op_test

import (
	"math/rand/v2"
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// TestForesee: what is known to be faster on two cores is, and a machine with faster memory has other choices.
func TestForesee(t *testing.T) {
	here := op.ReferenceRates[float64]()
	large := op.Rates{All: 640e9, One: 40e9, Memory: 37.5e9} // 16 cores and 300 GB/s
	for _, c := range []struct {
		d     op.Decomposition
		rates op.Rates
		two   bool
	}{
		{op.Decomposition{Rows: 200, Cols: 200}, here, false},
		{op.Decomposition{Rows: 1000, Cols: 1000}, here, true},
		{op.Decomposition{Rows: 2000, Cols: 2000, Vectors: 200}, here, true},
		{op.Decomposition{Rows: 2000, Cols: 2000, Vectors: 2000}, here, false},
		{op.Decomposition{Rows: 1000, Cols: 1000, Singular: true}, here, true},
		{op.Decomposition{Rows: 1000, Cols: 1000, Singular: true, Vectors: 100}, here, true},
		{op.Decomposition{Rows: 1000, Cols: 1000, Singular: true, Vectors: 1000}, here, false},
		{op.Decomposition{Rows: 2000, Cols: 2000}, large, false},
		{op.Decomposition{Rows: 20000, Cols: 20000}, large, true},
	} {
		one, two := c.d.Foresee(op.OneStage, c.rates), c.d.Foresee(op.TwoStages, c.rates)
		if (two.Time() < one.Time()) != c.two {
			t.Errorf("%+v: %v in one stage, %v in two", c.d, one.Time(), two.Time())
		}
	}
}

// TestChoice: a call chooses by fixed rates, or by rates that it measures once if the caller keeps them, and tells why.
func TestChoice(t *testing.T) {
	const n = 410
	rng := rand.New(rand.NewPCG(1, 2))
	ops := kernels.For[float64](op.NewTable())
	call := func(routine string, params any, account *op.Account) {
		t.Helper()
		a := &kernels.Tile[float64]{Rows: n, Cols: n, Stride: n, Data: make([]float64, n*n)}
		for i := range a.Data {
			a.Data[i] = rng.NormFloat64()
		}
		values := &kernels.Tile[float64]{Rows: 1, Cols: n, Stride: n, Data: make([]float64, n)}
		if err := ops.Op(routine).Version("go").Run(&versions.Call{Ctx: t.Context(), Params: params, Args: []any{a, values}, Local: account,
			Work: new(versions.Workspace)}); err != nil {
			t.Fatal(err)
		}
	}
	for routine, params := range map[string][2]any{
		"syevd": {&op.Syevd{Values: true}, &op.Syevd{Values: true, Reduction: op.OneStage}},
		"gesdd": {&op.Gesdd{Values: true}, &op.Gesdd{Values: true, Reduction: op.TwoStages}},
	} {
		var account op.Account
		check := func(measured bool) {
			t.Helper()
			c := account.Choice
			first := "reduction"
			if c.Two < c.One {
				first = "reduction to band"
			}
			if c.One <= 0 || c.Two <= 0 || c.Measured != measured || account.Stages[0].Name != first {
				t.Errorf("%s: %+v, and the first stage is %v", routine, c, account.Stages[0].Name)
			}
		}
		call(routine, params[0], &account)
		check(false)
		if account.Choice.Rates != op.ReferenceRates[float64]() {
			t.Errorf("%s: %+v", routine, account.Choice)
		}
		account.Rates = new(op.MeasuredRates)
		call(routine, params[0], &account)
		check(true)
		rates := account.Choice.Rates
		if rates.All <= 0 || rates.One <= 0 || rates.Memory <= 0 {
			t.Errorf("%s: %+v", routine, rates)
		}
		call(routine, params[0], &account)
		check(true)
		if account.Choice.Rates != rates {
			t.Errorf("%s: measured again: %+v, %+v", routine, rates, account.Choice.Rates)
		}
		if call(routine, params[1], &account); account.Choice != (op.ReductionChoice{}) {
			t.Errorf("%s: %+v of a way that is fixed", routine, account.Choice)
		}
	}
}
