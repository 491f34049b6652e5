package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/internal/cli"
)

// TestNonsense feeds flags with what they do not take: each is refused before anything runs, in words
// that are not those of a Go package.
func TestNonsense(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("junk.txt", []byte("not one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	goish := regexp.MustCompile(`strconv|invalid syntax|<nil>|%!|json:|invalid character|dial tcp: address|parse "http|time: |unknown shorthand|mkdir|listen tcp`)
	for _, c := range []struct{ line, want string }{
		{"gemm -n 1.5", `-n: "1.5" is not allowed; want a whole number`},
		{"gemm -n -1", "-n is -1, want at least 1"},
		{"gemm -n", "-n wants a value"},
		{"gemm -nb 5", "unknown flag -nb. Did you mean --nb?"},
		{"gemm -workers 2", "unknown flag -workers. Did you mean --workers?"},
		{"gemm --nb 99999999", "--nb is 99999999, want 1 to 16384"},
		{"gemm --seed 1.5", "--seed: "},
		{"gemm --verify=flase", "want true or false"},
		{"gemm --copies NaN", "want a number from 0 to 1"},
		{"gemm --node-timeout 5", "want a time, as in"},
		{"gemm --node-timeout -5s --cluster local:1", "--node-timeout is -5s, want more than 0"},
		{"gemm --profile nodir/x", "--profile nodir/x: there is no such directory"},
		{"gemm --profile .", "--profile .: there is something of that name that is not a file"},
		{"gemm --output x.txt --distributed --cluster local:2", `--output: "x.txt" is not allowed; want a file .npy`},
		{"gemm --listen 127.0.0.1:99999 --cluster 127.0.0.1:1", "its port is not a number from 0 to 65535"},
		{"gemm --cluster local:x", "does not say how many agents"},
		{"gemm --input junk.txt --record ./junk.txt", "--record ./junk.txt: --input names the same file"},
		{"gemm --input x.npz:a --record x.npz", "--record x.npz: --input names the same file"},
		{"lu --trace x.prv --record x.prv", "--record x.prv: --trace names the same file"},
		{"scale --csv x.svg --plot x.svg", "--plot x.svg: --csv names the same file"},
		{"replay junk.txt --csv junk.txt", "--csv junk.txt: the argument names the same file"},
		{"lstsq --matrix hilbert -m 80 -n 60", "is square, and n = 60, m = 80 See"},
		{"scale -x foo", "-x: "},
		{"scale --repeat 0", "--repeat: "},
		{"tune --budget -1s", "want some time"},
		{"machine nodir/x.toml", "labench: nodir/x.toml: there is no such directory"},
		{"machine x.toml --each 0s", "--each is 0s, want some time"},
		{"plan lu --machine cobi --lose 1@2s-1s", "comes back after that"},
		{"replay junk.txt", "it is no recorded run"},
		{"replay junk.txt --latency x", "want a time, as in"},
		{"loop svm --kernel x", "go run ./examples/papers loop"},
		{"figures", "go run ./examples/papers figures"},
		{"metg --radix -1", "--radix is -1, want at least 1"},
		{"agent --workers -1", "--workers is -1, want 1 to 16384"},
		{"agent --listen 127.0.0.1:x", "its port is not a number"},
		{"agent --memory NaN", "number of bytes"},
		{"agent --spool-limit x", "number of bytes"},
		{"agent --spool d", "--jobs and --spool need each other"},
		{"agent --jobs 127.0.0.1:99999 --spool d", "its port is not a number"},
		{"agent --jobs x --spool d", `"x" is no address for jobs: want host:port`},
		{"status --to 127.0.0.1:x", "its port is not a number"},
		{"status --to 127.0.0.1:9 1.5", "is no number of a job"},
		{"result --to 127.0.0.1:9 1 --matrix x.txt", `--matrix: "x.txt" is not allowed`},
		{"cluster init junk.txt --nodes a", "junk.txt is a file"},
		{"cluster init d --nodes a --valid 5", "want a time, as in"},
		{"cluster plan lu --gflops x --cluster local:2", `--gflops: "x" is not allowed; want a number`},
		{"plan lu --workers -1 --cluster local:2 --gflops 1", `--workers: "-1" is not allowed`},
		{"lu --checkpoint junk.txt -n 50", "labench: checkpoint junk.txt"},
	} {
		code, out, errs := labench(t, strings.Fields(c.line)...)
		said := strings.Join(strings.Fields(errs), " ")
		if code == cli.ExitPassed || out != "" || !strings.Contains(said, c.want) {
			t.Errorf("%s: exit code %d: %s%s; want %q", c.line, code, out, said, c.want)
		}
		if word := goish.FindString(said); word != "" {
			t.Errorf("%s: %q is no user's word: %s", c.line, word, said)
		}
	}
	if left, _ := filepath.Glob("*"); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
	for _, c := range [][3]string{{"--devices", "foo", `"foo"`}, {"--repeat", "-1", "is -1"}} {
		if _, _, errs := labench(t, "gemm", c[0], c[1]); strings.Count(errs, c[2]) != 1 {
			t.Errorf("said twice: %s", errs)
		}
	}
}

// TestSizeReadsItself: the default that --help shows is one that may be given.
func TestSizeReadsItself(t *testing.T) {
	x, y := cli.Size(16<<30), cli.Size(0)
	if err := y.Set(x.String()); err != nil || x != y {
		t.Errorf("%q: %v, %v", x.String(), y, err)
	}
}
