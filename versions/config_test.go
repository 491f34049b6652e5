package versions_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tessera-la/tessera/versions"
)

func TestParseNames(t *testing.T) {
	for _, test := range []struct {
		list string
		want []string
		bad  bool
	}{
		{"", nil, false},
		{"  ", nil, false},
		{"go", []string{"go"}, false},
		{" avx2 ,openblas", []string{"avx2", "openblas"}, false},
		{"go,", nil, true},
		{"go,,avx2", nil, true},
		{"go,go", nil, true},
		{"gemm=go", nil, true},
	} {
		got, err := versions.ParseNames(test.list)
		var bad *versions.ConfigError
		if !slices.Equal(got, test.want) || errors.As(err, &bad) != test.bad {
			t.Errorf("%q: got %q, %v", test.list, got, err)
		}
	}
}

func TestParsePins(t *testing.T) {
	got, err := versions.ParsePins("gemm=openblas, potrf/f64 = go")
	want := []versions.Pin{{Op: "gemm", Version: "openblas"}, {Op: "potrf/f64", Version: "go"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := versions.ParsePins(" "); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = versions.ParsePins("gemm,=go,potrf=,a=b=c,trsm=go")
	var bad *versions.ConfigError
	if !errors.As(err, &bad) || len(bad.Problems) != 4 {
		t.Errorf("got %v", err)
	}
}

func TestNewSelectorReportsEveryProblem(t *testing.T) {
	_, err := versions.NewSelector(versions.Config{
		Mode:    versions.Thorough + 1,
		Explore: -1,
		Only:    []string{"go", "go", "x"},
		Exclude: []string{"", "x"},
		Fixed:   []versions.Pin{{Op: "", Version: "go"}, {Op: "gemm", Version: "x"}},
	})
	var bad *versions.ConfigError
	if !errors.As(err, &bad) || len(bad.Problems) != 7 {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	ops := []*versions.Op{opOf("gemm", "go", "avx2"), opOf("potrf", "go", "openblas")}
	for _, test := range []struct {
		name   string
		config versions.Config
		want   string
	}{
		{"zero", versions.Config{}, ""},
		{"known", versions.Config{Only: []string{"openblas"}, Exclude: []string{"avx2"}, Fixed: []versions.Pin{{Op: "gemm/f64", Version: "go"}}}, ""},
		{"only", versions.Config{Only: []string{"openblass"}}, `versions: unknown version "openblass"; known: avx2, go, openblas`},
		{"two", versions.Config{Only: []string{"a"}, Exclude: []string{"b"}}, "versions: unknown version \"a\"; known: avx2, go, openblas\nversions: unknown version \"b\"; known: avx2, go, openblas"},
		{"op", versions.Config{Fixed: []versions.Pin{{Op: "gem", Version: "go"}}}, `versions: unknown op "gem"; known: gemm, potrf`},
		{"version of op", versions.Config{Fixed: []versions.Pin{{Op: "gemm", Version: "openblas"}}}, `versions: unknown version "openblas" of gemm; known: avx2, go`},
	} {
		err := newSelector(t, test.config).Validate(ops)
		got := ""
		if err != nil {
			got = err.Error()
			var unknown *versions.UnknownNameError
			if !errors.As(err, &unknown) {
				t.Errorf("%s: %T", test.name, err)
			}
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}
