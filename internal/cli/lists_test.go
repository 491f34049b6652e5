package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestParseInts(t *testing.T) {
	auto := map[string]int{"auto": 0}
	for list, want := range map[string][]int{
		"1":                       {1},
		" 3, 1 ,2":                {3, 1, 2},
		"1,2,1":                   {1, 2},
		"auto,64":                 {0, 64},
		"512:2048:512":            {512, 1024, 1536, 2048},
		"1:6:2":                   {1, 3, 5},
		"256:4096:x2":             {256, 512, 1024, 2048, 4096},
		"3:100:x10":               {3, 30},
		"7:7:1":                   {7},
		"2147483647":              {2147483647},
		"1:2147483647:2147483647": {1},
		"64,128:256:64,auto":      {64, 128, 192, 256, 0},
	} {
		got, err := ParseInts("nb", list, auto)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("parseInts(%q) = %v, %v; want %v", list, got, err, want)
		}
	}
	for _, list := range []string{"", ",", "1,", "0", "-1", "+1", "1.5", "a", "AUTO", "1:2", "1:2:3:4", "2:1:1", "1:2:0", "1:2:x1", "1:2:x", "1:2:-1",
		":2:1", "1::1", "1:2:", "0:2:1", "1:1000000000:1", "1:2147483648:x2", "2147483648", "99999999999999999999", "1 2"} {
		got, err := ParseInts("nb", list, auto)
		var bad *ListError
		if !errors.As(err, &bad) {
			t.Errorf("parseInts(%q) = %v, %v; want a *listError", list, got, err)
			continue
		}
		for _, word := range []string{"--nb", "first:last:step", "auto"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("parseInts(%q): %q does not name %q", list, err, word)
			}
		}
	}
	if _, err := ParseInts("n", "auto", nil); err == nil || strings.Contains(err.Error(), ", auto") {
		t.Errorf("without words, error is %v", err)
	}
}

func FuzzParseInts(f *testing.F) {
	for _, s := range []string{"1,2:10:3", "1:9:x2", "auto", "::", "x", "2147483647:2147483647:x2147483647"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		values, err := ParseInts("n", list, map[string]int{"auto": 0})
		if (err == nil) == (values == nil) || len(values) > maxElements {
			t.Errorf("%d values, error %v", len(values), err)
		}
		for i, v := range values {
			if v < 0 || slices.Contains(values[:i], v) {
				t.Errorf("%q gives %v", list, values)
			}
		}
	})
}
