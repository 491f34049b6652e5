package cli

import (
	"slices"
	"strings"
	"testing"
)

// TestWordList: words between commas, in one flag or in several; what is behind a line's end is not lost
// in silence.
func TestWordList(t *testing.T) {
	for _, test := range []struct {
		texts string // between bars
		want  []string
		bad   bool
	}{
		{"a,b", []string{"a", "b"}, false}, {"a|b,c", []string{"a", "b", "c"}, false}, {"a, b", []string{"a", "b"}, false}, {"", nil, false},
		{"a,,b", nil, true}, {",", nil, true}, {"a\nb", nil, true}, {"a,b\n", nil, true}, {"a\x1b[2J", nil, true}, {`a"b`, []string{`a"b`}, false},
	} {
		got := []string{"default"}
		l := NewWordList(&got)
		var err error
		for text := range strings.SplitSeq(test.texts, "|") {
			if wrong := l.Set(text); wrong != nil {
				err = wrong
			}
		}
		if (err != nil) != test.bad || !test.bad && !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, error %v", test.texts, got, err)
		}
	}
}
