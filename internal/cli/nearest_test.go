package cli

import "testing"

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{"cholesk": "cholesky", "chol": "cholesky", "sovle": "solve", "GEMM": "gemm", "gem": "gemm", "lq": "lu",
		"frobnicate": "", "x": "", "s": "", "": ""} {
		if got := nearest(word, []string{"gemm", "syrk", "trsm", "cholesky", "lu", "qr", "solve", "lstsq"}); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"größe", "grösse", 2}} {
		if got := distance(test.a, test.b); got != test.want || distance(test.b, test.a) != test.want {
			t.Errorf("%q, %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
