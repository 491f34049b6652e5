package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/cli"
)

// TestAddressSpace: under a limit of address space a run that cannot fit is refused before Go
// runs out of memory, and ends without a dump of goroutines.
func TestAddressSpace(t *testing.T) {
	c := exec.Command("sh", "-c", `ulimit -v 4000000 && exec "$0" lu -n 20000 --profile none`, os.Args[0])
	c.Env = append(os.Environ(), "TEST_LABENCH=1")
	out, err := c.CombinedOutput()
	said := strings.Join(strings.Fields(string(out)), " ")
	if c.ProcessState == nil || c.ProcessState.ExitCode() != cli.ExitFailed || !strings.Contains(said, "what the limit of address space leaves (ulimit -v)") ||
		strings.Contains(said, "goroutine") {
		t.Errorf("%v: %s", err, out)
	}
}
