package main

import (
	"encoding/json"
	"errors"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/tessera-la/tessera/cmd/labench/internal/inspect"
	"github.com/tessera-la/tessera/cmd/labench/internal/labtest"
	"github.com/tessera-la/tessera/internal/cli"
	"github.com/tessera-la/tessera/kernels/op"
	"github.com/tessera-la/tessera/versions"
)

// No flag of any command answers with words of package strconv or pflag.
func TestFlagsSpeakPlainly(t *testing.T) {
	var commands func(cmd *cobra.Command, path []string)
	flags := 0
	commands = func(cmd *cobra.Command, path []string) {
		for _, sub := range cmd.Commands() {
			commands(sub, append(path[:len(path):len(path)], sub.Name()))
		}
		for _, kind := range []string{"int", "uint64", "duration", "bool", "float64", "size", "share"} {
			for _, word := range strings.Fields(cmd.LocalFlags().FlagUsages()) {
				name, isFlag := strings.CutPrefix(word, "--")
				f := cmd.LocalFlags().Lookup(name)
				if !isFlag || f == nil || f.Value.Type() != kind || name == "help" {
					continue
				}
				flags++
				args := append(path[:len(path):len(path)], "--"+name+"=nonsense")
				code, out, errs := labench(t, args...)
				if want := "labench: " + cli.Dashed(name) + `: "nonsense" is not allowed; want `; code != cli.ExitUsage || out != "" || !strings.HasPrefix(errs, want) {
					t.Errorf("%v: exit code %d: %s", args, code, errs)
				}
				for _, foreign := range []string{"strconv", "invalid argument", "pflag", "invalid syntax"} {
					if strings.Contains(errs, foreign) {
						t.Errorf("%v: %s", args, errs)
					}
				}
			}
		}
	}
	commands(root(cli.New()), nil)
	if flags < 30 {
		t.Errorf("only %d flags seen", flags)
	}
}

// More workers than cores are allowed, and said, wherever there are workers to
// choose.
func TestCrowded(t *testing.T) {
	for _, args := range [][]string{
		{"gemm", "-n", "40", "--workers", "65", "--json"},
		{"scale", "-n", "40", "--workers", "1,65", "--repeat", "1"},
		{"tune", "gemm", "-n", "40", "--type", "f64", "--workers", "65", "--budget", "1ms"},
	} {
		_, out, errs := labench(t, append(args, "--profile", "none")...)
		labtest.Narrow(t, strings.Join(args, " "), errs)
		if want := "labench: warning: 65 workers share 64 cores"; !strings.HasPrefix(errs, want) || out == "" {
			t.Errorf("%v: %q", args, errs)
		}
	}
	if _, _, errs := labench(t, "gemm", "-n", "40", "--workers", "64", "--profile", "none"); errs != "" {
		t.Errorf("a worker for each core: %q", errs)
	}
}

// The error names the type that was asked for.
func TestNoVersionOfType(t *testing.T) {
	table := op.NewTable()
	if table.Op("gemm", "f64").Version("knl") == nil {
		t.Skip("this build has no version that can be missing on this machine: no assembly")
	}
	for _, typ := range []string{"f64", "f32"} {
		code, _, errs := labench(t, "gemm", "-n", "40", "--type", typ, "--versions", "knl")
		if code == cli.ExitPassed {
			t.Skip("this processor is a KNL")
		}
		if !strings.Contains(errs, "no version of gemm/"+typ) {
			t.Errorf("%s: %s", typ, errs)
		}
	}
}

func TestVersion(t *testing.T) {
	setting := func(pairs ...string) (all []debug.BuildSetting) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	for _, test := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "labench of an unknown version: it was built without modules"},
		{&debug.BuildInfo{GoVersion: "go1.26"}, "labench devel (commit unknown), go1.26"},
		{&debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "(devel)"}, Settings: setting("vcs.revision", "0123456789abcdef",
			"vcs.time", "2026-11-20T12:00:00Z", "vcs.modified", "true")}, "labench devel (commit 0123456789ab of 2026-11-20, modified), go1.26"},
		{&debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: "v1.2.3"}, Settings: setting("vcs.revision", "abc", "vcs.modified", "false")},
			"labench v1.2.3 (commit abc), go1.26"},
	} {
		if got := cli.VersionLine(test.info, test.info != nil); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	code, out, errs := labench(t, "--version")
	if code != cli.ExitPassed || !strings.HasPrefix(out, "labench ") || errs != "" {
		t.Errorf("exit code %d: %q, %q", code, out, errs)
	}
	labtest.Narrow(t, "version", out)
}

func TestDoctorJSON(t *testing.T) {
	code, out, errs := labench(t, "doctor", "--json")
	var doc inspect.DoctorDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != cli.ExitPassed || errs != "" || doc.Machine.Cores < 1 || len(doc.Kernels) == 0 {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, errs)
	}
}

func TestListDocument(t *testing.T) {
	_, out, _ := labench(t, "list", "--json")
	var doc inspect.InventoryDocument
	if err := json.Unmarshal([]byte(out), &doc); err != nil || doc.Target.Arch == "" || doc.Target.Units < 1 || len(doc.Versions) == 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// Options that la refuses are a slip on the command line.
func TestExitCode(t *testing.T) {
	for _, err := range []error{&versions.ConfigError{}, &versions.UnknownNameError{}, cli.Usage(errors.New("x"))} {
		if exitCode(err) != cli.ExitUsage {
			t.Errorf("%v: exit code %d", err, exitCode(err))
		}
	}
}

// Sizes are numbers of bytes, with a unit or without.
func TestSize(t *testing.T) {
	for text, want := range map[string]cli.Size{"1": 1, "4096B": 4096, "1.5GiB": 3 << 29, "800M": 800 << 20, "2TiB": 2 << 40} {
		var s cli.Size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%s is %d, want %d, error %v", text, s, want, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "GiB", "1.5gib", "1GiBB", "NaN", "9e30", "1e400"} {
		var s cli.Size
		if err := s.Set(text); err == nil {
			t.Errorf("%q is %d, want an error", text, s)
		}
	}
}
