package bench

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/matgen"
	"github.com/tessera-la/tessera/la"
)

func TestMethods(t *testing.T) {
	for _, typ := range Types() {
		for _, test := range []struct {
			s    Spec
			used string
		}{
			{Spec{Problem: Problem{Matrix: matgen.Random}}, "lu"},
			{Spec{Problem: Problem{Matrix: matgen.SPD}}, "cholesky"},
			{Spec{Problem: Problem{Matrix: matgen.Random, Method: ByLU}}, "lu"},
			{Spec{Problem: Problem{Method: ByCholesky}}, "cholesky"},
			{Spec{Problem: Problem{Matrix: matgen.Random, Method: ByQR}}, "qr"},
		} {
			s := test.s
			s.Op, s.Type, s.N, s.NRHS, s.Repeat, s.Verify, s.NoPeak = "solve", typ, 150, 3, 1, true, true
			for _, nb := range []int{0, 32} {
				s.NB = nb
				r, err := Run(context.Background(), s)
				if err != nil || !r.Passed || r.Method != test.used || r.NRHS != 3 || r.Shape() != "n = 150, nrhs = 3" {
					t.Errorf("%v %v nb %d: %q, %s, %v", s.Method, s.Matrix, nb, r.Method, r.Failure, err)
				}
			}
		}
	}
}

func TestMixed(t *testing.T) {
	for _, test := range []struct {
		s        Spec
		fallback string
	}{
		{Spec{Problem: Problem{Method: ByCholesky}}, ""},
		{Spec{Problem: Problem{Method: ByLU, Matrix: matgen.Cond2}}, ""},
		{Spec{Problem: Problem{Matrix: matgen.CondMax}}, "not factored"},
	} {
		s := test.s
		s.Op, s.N, s.Mixed, s.Repeat, s.Verify, s.NoPeak = "solve", 200, true, 1, true, true
		r, err := Run(context.Background(), s)
		if err != nil || !r.Passed || r.Refinement == nil || r.Refinement.Fallback != test.fallback {
			t.Errorf("%v %v: %+v, %s, %v", s.Method, s.Matrix, r.Refinement, r.Failure, err)
			continue
		}
		if text := r.Refinement.Says(); !strings.Contains(text, "in f32") || strings.Contains(text, "all in f64") != (test.fallback != "") {
			t.Errorf("%v %v: %q", s.Method, s.Matrix, text)
		}
		var back Result
		if text, err := json.Marshal(r); err != nil || json.Unmarshal(text, &back) != nil || *back.Refinement != *r.Refinement || back.NRHS != 1 {
			t.Errorf("%v %v: %v: %s", s.Method, s.Matrix, err, text)
		}
	}
	for _, s := range []Spec{{Problem: Problem{Mixed: true, Type: "f32"}}, {Problem: Problem{Mixed: true, Method: ByQR}}, {Problem: Problem{Method: 99}}, {Problem: Problem{Method: ByCholesky, Matrix: matgen.Kahan}}, {Problem: Problem{NRHS: -1}}} {
		s.Op, s.N = "solve", 5
		var invalid *InvalidError
		if err := s.Validate(); !errors.As(err, &invalid) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	for _, s := range []Spec{{Problem: Problem{Op: "gemm", NRHS: 2}}, {Problem: Problem{Op: "gemm", Method: ByLU}}, {Problem: Problem{Op: "lu", Mixed: true}}} {
		if err := s.Validate(); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}

func TestLeastSquares(t *testing.T) {
	for _, typ := range Types() {
		for _, shape := range [][2]int{{90, 90}, {400, 60}, {60, 400}, {3, 1}} {
			s := Spec{Problem: Problem{Op: "lstsq", Type: typ, M: shape[0], N: shape[1], NRHS: 4, NB: 32}, Repeat: 1, Verify: true, NoPeak: true}
			r, err := Run(context.Background(), s)
			if err != nil || !r.Passed || r.NRHS != 4 || strings.Contains(r.Formula, "ᵀA") == (shape[0] < shape[1]) {
				t.Errorf("%v: %+v, %v", shape, r, err)
			}
		}
	}
	s := Spec{Problem: Problem{Op: "lstsq"}}.WithDefaults()
	if s.M != DefaultN || s.N != 1024 || s.NRHS != 1 {
		t.Errorf("defaults are %+v", s)
	}
}

// A wrong element of a solution is found.
func TestWrongSolution(t *testing.T) {
	e, err := la.NewEngine(la.Options{NB: 32, Direct: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	ctx := context.Background()
	for _, s := range []Spec{{Problem: Problem{Op: "solve", N: 90}}, {Problem: Problem{Op: "lstsq", M: 120, N: 90}}, {Problem: Problem{Op: "lstsq", M: 60, N: 90}}} {
		for _, wrong := range []float64{0, 1e-3} {
			p, _, err := newProblem[float64](ctx, s.WithDefaults(), 2)
			if err != nil {
				t.Fatal(err)
			}
			p.reset()
			if err := call(p, e); err != nil {
				t.Fatal(err)
			}
			switch p := p.(type) {
			case *system[float64]:
				p.x.Data[17] += wrong
			case *lstsq[float64]:
				p.x.Data[17] += wrong
			}
			v, err := p.verify(ctx, e, func(int, int) {})
			for _, c := range v.checks {
				v.residual = max(v.residual, c.Residual)
			}
			if err != nil || (v.residual < Limit(s.Op)) != (wrong == 0) {
				t.Errorf("%+v wrong by %g: residual %g, %v", s, wrong, v.residual, err)
			}
		}
	}
}
