package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/cli"
)

// TestAsides: what a driver is told about nodes is sentences, which come behind a report that is being
// written; an agent logs for programs.
func TestAsides(t *testing.T) {
	var out strings.Builder
	a := &cli.App{Out: &out, Err: &out}
	log := a.Log("").With("job", 7)
	log.Info("a node has left", "node", "agent1", "error", errors.New("it does not answer"))
	release := a.Asides().Hold()
	out.WriteString("speed\n")
	log.Warn("message refused", "from", "x")
	a.Log("agent0: ").Debug("not said")
	out.WriteString("residual\n")
	release()
	want := "labench: a node has left: job 7, node agent1, error it does not answer\nspeed\nresidual\nlabench: warning: message refused: job 7, from x\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", &out, want)
	}
	out.Reset()
	(&cli.App{Err: &out, Agent: true}).Log("").Warn("message refused", "from", "x")
	if out.String() != "level=WARN msg=\"message refused\" from=x\n" {
		t.Errorf("an agent: %s", &out)
	}
}

// TestFlagErrors: what is wrong with a flag is said in plain words, whatever its type, with what was
// meant.
func TestFlagErrors(t *testing.T) {
	for args, want := range map[string]string{
		"cholesky --verify=flase":              `--verify: "flase" is not allowed; want true or false`,
		"cholesky -n x":                        `-n: "x" is not allowed; want a whole number`,
		"cholesky --seed -1":                   "want a whole number from 0",
		"agent --node-timeout 5":               "want a time, as in 90s",
		"agent --memory x":                     "want a number of bytes",
		"cholesky --policy fifo":               "unknown flag --policy. Did you mean --sched?",
		"explain cholesky --policy fifo":       "Did you mean --sched?",
		"scale --sizes 100":                    "unknown flag --sizes. Did you mean -n?",
		"cholesky --threads 2":                 "Did you mean --workers?",
		"dropin --orders 100":                  "Did you mean -n?",
		"cholesky --verfy":                     "Did you mean --verify?",
		"peak --zzzzzz":                        "unknown flag --zzzzzz; labench peak knows",
		"dropin -n 12x":                        `-n: "12x" is not allowed`,
		"dropin --sizes 12x":                   `-n: "12x" is not allowed`,
		"cholesky --nb":                        "--nb wants a value",
		"cluster init x --nodes a,,b":          "--nodes: there is no word between two commas",
		"cluster init x --nodes ca.key":        "the authority has a file of that name",
		"cluster init x --nodes a --valid -1h": "--valid is -1h0m0s, want more than 0",
	} {
		code, _, errs := labench(t, strings.Fields(args)...)
		if text := strings.Join(strings.Fields(errs), " "); code != cli.ExitUsage || !strings.Contains(text, want) || strings.Contains(text, "strconv") {
			t.Errorf("labench %s: exit code %d: %s; want %q", args, code, text, want)
		}
	}
	if code, _, errs := labench(t, "cluster", "init", "x", "--nodes", "a\nb"); code != cli.ExitUsage || !strings.Contains(errs, "control characters") {
		t.Errorf("a name of two lines: exit code %d: %s", code, errs)
	}
}
