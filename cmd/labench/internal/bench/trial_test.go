package bench

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/versions"
	"go.uber.org/goleak"
)

func TestTrial(t *testing.T) {
	defer goleak.VerifyNone(t)
	each(t, func(t *testing.T, op, typ string) {
		if !slices.Contains(Tunable(), op) || typ != "f64" && op != "gemm" {
			return
		}
		p := new(versions.Profile)
		s := Spec{Problem: Problem{Op: op, Type: typ, N: 300}, Local: Local{Workers: 2, Profile: p}}
		trial, err := NewTrial(t.Context(), s.Problem, s.Local)
		if err != nil {
			t.Fatal(err)
		}
		if trial.Op.String() != op || trial.Key != op+"/"+typ || trial.N != 300 || trial.Workers != 2 || trial.Target == nil || trial.Flops < 9e6 {
			t.Errorf("%+v", trial)
		}
		if !trial.Direct && (trial.Default < 1 || trial.Default >= 300) {
			t.Errorf("default is %d", trial.Default)
		}
		sizes := []int{300, 64}
		if op == "cholesky" { // more than are kept ready, and some again
			sizes = []int{300, 150, 100, 75, 64, 60, 50, 300, 50}
		}
		for _, nb := range sizes {
			if took, err := trial.Time(t.Context(), nb); err != nil || took <= 0 {
				t.Errorf("nb = %d: %v, %v", nb, took, err)
			}
		}
		if err := trial.Close(); err != nil {
			t.Error(err)
		}
	})
}

// The default does not depend on what an earlier tuning has left.
func TestTrialDefault(t *testing.T) {
	first, err := NewTrial(t.Context(), Problem{Op: "gemm", N: 1000}, Local{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	p := new(versions.Profile)
	p.SetTileSize(first.Key, first.Target, 1, 1000, first.Default+8, 1e9)
	again, err := NewTrial(t.Context(), Problem{Op: "gemm", N: 1000}, Local{Workers: 1, Profile: p})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Default != first.Default {
		t.Errorf("the default was %d and is %d", first.Default, again.Default)
	}
}

func TestTrialErrors(t *testing.T) {
	defer goleak.VerifyNone(t)
	for _, s := range []Spec{{Problem: Problem{Op: "cooking"}}, {Problem: Problem{Op: "gemm", Type: "f16"}}, {Problem: Problem{Op: "gemm"}, Local: Local{Workers: -1}}} {
		_, err := NewTrial(t.Context(), s.Problem, s.Local)
		if want := (*InvalidError)(nil); !errors.As(err, &want) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	_, err := NewTrial(t.Context(), Problem{Op: "gemm", N: 1 << 30}, Local{})
	if want := (*MemoryError)(nil); !errors.As(err, &want) {
		t.Error(err)
	}
	_, err = NewTrial(t.Context(), Problem{Op: "gemm", N: 100}, Local{Only: []string{"fortran"}})
	if want := (*versions.UnknownNameError)(nil); !errors.As(err, &want) {
		t.Error(err)
	}
	boom := errors.New("boom")
	ctx, cancel := context.WithCancelCause(t.Context())
	trial, err := NewTrial(ctx, Problem{Op: "cholesky", N: 300}, Local{})
	if err != nil {
		t.Fatal(err)
	}
	cancel(boom)
	if _, err := trial.Time(ctx, 64); err != boom {
		t.Error(err)
	}
	if err := trial.Close(); err != nil {
		t.Error(err)
	}
	if _, err := NewTrial(ctx, Problem{Op: "cholesky", N: 300}, Local{}); err != boom {
		t.Error(err)
	}
}
