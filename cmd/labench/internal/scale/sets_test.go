package scale

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec/dispatch"
	"github.com/tessera-la/tessera/internal/cli"
)

func TestParseVersionSets(t *testing.T) {
	sets, err := parseVersionSets("all, go ,openblas+go,go")
	if err != nil || len(sets) != 3 {
		t.Fatalf("%v, %v", sets, err)
	}
	if sets[0].name != "all" || sets[0].only != nil || sets[1].name != "go" || sets[2].name != "openblas+go" || !slices.Equal(sets[2].only, []string{"openblas", "go"}) {
		t.Errorf("%v", sets)
	}
	for _, list := range []string{"", "go,", "+", "go+", "go+go", "gemm=go"} {
		_, err := parseVersionSets(list)
		var bad *cli.ListError
		if !errors.As(err, &bad) {
			t.Errorf("parseVersionSets(%q): error is %v", list, err)
		}
	}
}

func TestParseWords(t *testing.T) {
	for list, want := range map[string][]dispatch.Kind{
		"fifo":              {dispatch.FIFO},
		"LIFO, fifo,lifo":   {dispatch.LIFO, dispatch.FIFO},
		"all":               dispatch.Kinds(),
		"locality,all":      append([]dispatch.Kind{dispatch.Locality}, slices.DeleteFunc(dispatch.Kinds(), func(k dispatch.Kind) bool { return k == dispatch.Locality })...),
		"priority,fifodata": {dispatch.Priority, dispatch.FIFOData},
	} {
		got, err := cli.ParseWords("sched", list, dispatch.Kinds())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("parseWords(%q) = %v, %v; want %v", list, got, err, want)
		}
	}
	for _, list := range []string{"", "fifo,", "nice", "All"} {
		_, err := cli.ParseWords("sched", list, dispatch.Kinds())
		var bad *cli.ListError
		if !errors.As(err, &bad) {
			t.Errorf("parseWords(%q): error is %v", list, err)
		} else if !strings.Contains(err.Error(), "all, priority, fifo") {
			t.Errorf("parseWords(%q): %q does not list the policies", list, err)
		}
	}
}
