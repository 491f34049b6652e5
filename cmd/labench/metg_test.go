package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/cmd/labench/internal/metg"
	"github.com/tessera-la/tessera/internal/cli"
)

func TestMETG(t *testing.T) {
	args := []string{"metg", "--sched", "fifo,steal", "--steps", "10", "--repeat", "1", "--workers", "2", "--pattern"}
	code, out, errs := labench(t, append(args, "tree", "--points")...)
	if code != 0 || errs != "" || strings.Count(out, "tree ") != 2 {
		t.Errorf("code %d\n%s\n%s", code, out, errs)
	}
	labtest.Narrow(t, "metg", out)
	code, out, _ = labench(t, append(args, "no_comm", "--json")...)
	var doc metg.MetgDocument
	if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil || len(doc.Results) != 2 {
		t.Fatalf("code %d, %v\n%s", code, err, out)
	}
	if r := doc.Results[0]; r.Pattern != "no_comm" || r.Sched != "fifo" || r.Tasks != 20 || len(r.Points) == 0 || r.Points[0].Kernel <= 0 {
		t.Errorf("%+v", r)
	}
	for _, bad := range [][]string{{"--pattern", "ring"}, {"--sched", "best"}, {"--steps", "0"}, {"--width", "-1"}, {"--radix", "x"}} {
		if code, _, errs := labench(t, append([]string{"metg"}, bad...)...); code != cli.ExitUsage || errs == "" {
			t.Errorf("%v: code %d, %q", bad, code, errs)
		}
	}
}
