package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/internal/cli"
)

// TestClusterPlan: a plan from a file, without any node; what does not fit is refused with the
// arithmetic.
func TestClusterPlan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nodes.toml")
	write := func(memory, rest string) {
		text := "idle = true\nlink = \"1GiB\"\n"
		for _, name := range []string{"north", "south"} {
			text += "[[node]]\naddress = \"" + name + ":1\"\nname = \"" + name + "\"\nworkers = 8\ngflops = 400\n" + rest
			if name == "south" {
				text += "memory = \"" + memory + "\"\n"
			} else {
				text += "memory = \"900MiB\"\n"
			}
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plan := func(args string) (code int, out, errs string) {
		return labench(t, append([]string{"plan", "--cluster", file}, strings.Fields(args)...)...)
	}
	var text strings.Builder
	show := func(name, args string, want int) {
		code, out, errs := plan(args)
		if code != want || (errs != "") != (want != 0) {
			t.Errorf("%s: exit code %d: %s", name, code, errs)
		}
		labtest.Narrow(t, name, out)
		text.WriteString("== " + name + "\n" + out + errs)
	}
	write("900MiB", "")
	show("fits", "cholesky -n 8192 --nb 512", 0)
	write("260MiB", "")
	show("drops copies", "lu -n 8192 --nb 512", 0)
	write("170MiB", "")
	show("others have room", "lu -n 8192 --nb 512", 0)
	show("no room", "gemm -n 12000 --nb 500", cli.ExitFailed)
	show("no room for eigenvectors", "eigen -n 12000 --nb 480", cli.ExitFailed)
	write("8MiB", "speed = 1\n")
	show("no task", "qr -n 16384 --nb 8192", cli.ExitFailed)
	labtest.Golden(t, "plan", text.String())

	// By the command's old name; nothing is known of rates; this process is a node as well.
	if code, out, errs := labench(t, "cluster", "plan", "gemm", "-n", "500", "--cluster", "local:2", "--idle=false", "--workers", "2", "--gflops", "10"); code != 0 || !strings.Contains(out, "driver ") || !strings.Contains(out, "agent1") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if code, _, errs := labench(t, "plan", "gemm", "--cluster", "local:2"); code != cli.ExitUsage || !strings.Contains(errs, "how fast is agent0? --gflops") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
