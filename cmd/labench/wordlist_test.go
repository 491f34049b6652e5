package main

import (
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/report"
)

// TestColoured: processes of MPI have no colour, whose terminal is not where their output goes.
func TestColoured(t *testing.T) {
	for env, want := range map[string]bool{"": true, "TERM=xterm": true, "TERM=dumb": false, "NO_COLOR=1": false, "OMPI_COMM_WORLD_RANK=0": false, "PMI_RANK=1": false, "PMIX_RANK=0": false, "MV2_COMM_WORLD_RANK=0": false} {
		name, value, _ := strings.Cut(env, "=")
		if got := report.Coloured(func(n string) string {
			if n == name {
				return value
			}
			return ""
		}); got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
}
