package machinefile

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/tessera-la/tessera/exec/sim"
)

const valid = `name = "two nodes"
[[kind]]
name = "x"
cores = 4
rate = 1e9
[[kind.speed]]
op = "gemm/f64"
points = [[64, 524288, 1e-5, 2e-5]]
[[nodes]]
kind = "x"
count = 2
[network]
latency = 1e-6
bandwidth = 1e9
`

// TestParse: what is wrong with a file is said, where that can be with its line.
func TestParse(t *testing.T) {
	if m, err := Parse("x", []byte(valid)); err != nil || m.Count() != 2 || m.Kinds[0].Speeds[0].Points[0].Size != 64 {
		t.Errorf("%+v, %v", m, err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"cores = 4", "cores = 0", "cores 0"},
		{"cores = 4", "cors = 4", "x:4: unknown key kind.cors; known are name, sockets, cores, "},
		{"cores = 4", "cores = 4.5", "x:4: kind.cores is a number with a point or an exponent, want a whole number"},
		{"cores = 4", "cores = ", "x:4"},
		{"[[64,", "[[64.5,", "x:8: kind.speed.points: the size of a point is 64.5, want a whole number"},
		{"2e-5]]", "2e-5, 1, 1]]", "a point is a list"},
		{"2e-5]]", "0]]", "want all more than 0"},
		{"kind = \"x\"", "kind = \"y\"", "nodes of kind \"y\""},
		{"bandwidth = 1e9", "bandwidth = 0", "bandwidth is 0; "},
		{"bandwidth = 1e9", "bandwidth = inf", "bandwidth is +Inf"},
		{"rate = 1e9", "rate = nan", "rate is NaN"},
		{"rate = 1e9", "rate = inf", "rate is +Inf"},
		{"latency = 1e-6", "latency = -1", "latency is -1"},
		{"cores = 4", "cores = 4611686018427387904\nsockets = 4", "at most 16384"},
		{"count = 2", "count = 1000000", "1000000 nodes"},
		{"[network]", "[noise]\nseed = -1\n[network]", "seed is"},
		{"[network]", "[costs]\ntask = nan\n[network]", "Task:NaN"},
		{"[network]", "[[failure]]\nnode = 1\nat = 2\nback = 1\n[network]", "and back later"},
		{"[network]", "[[failure]]\nnode = 2\n[network]", "there is no node 2"},
		{valid, "", "no kind"},
	} {
		_, err := Parse("x", []byte(strings.Replace(valid, c.from, c.to, 1)))
		if e := (*FileError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
}

// TestWrite: a machine that is written is the one that is read.
func TestWrite(t *testing.T) {
	m := &sim.Machine{
		Name: "two kinds", Source: "a test", Apart: true,
		Kinds: []sim.Kind{{Name: "x", Sockets: 2, Cores: 3, Workers: 4, Arch: "amd64", Processor: "KNL", Features: []string{"avx512f"}, Memory: 5,
			Devices: []sim.Device{{Name: "d", Count: 2, Ops: []string{"gemm"}, Memory: 7, Rate: 1, Launch: 2, Latency: 3, Bandwidth: 4, Returns: true}}, Ops: []string{"gemm"}, Cache: 6, Bandwidth: 8, Rate: 100,
			Speeds: []sim.Speed{{Op: "gemm/f64", Version: "avx2", Points: []sim.Point{{Size: 64, Work: 524288, Alone: 1e-5, All: 1.5e-5, Far: 1e-11}, {Work: 3, Alone: 1, All: 2}}}}}},
		Nodes:   []sim.Nodes{{Kind: "x", Count: 2, Host: "h"}},
		Network: sim.Network{Latency: 0.01, Bandwidth: 1e6, Value: 1e-5, Core: 1e-10},
		Costs:   sim.Costs{Submit: 1, Task: 2, Wake: 3, Serial: 1e-9, Files: 1e9, Driver: 4, Give: 5, Message: 6, End: 7, Node: 8},
		Noise:   sim.Noise{Spread: 0.02, Seed: 7},
	}
	var b bytes.Buffer
	if err := Write(&b, m); err != nil {
		t.Fatal(err)
	}
	got, err := Parse("x.toml", b.Bytes())
	if err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("%v\n%+v\n%+v\n%s", err, got, m, b.Bytes())
	}
}

// FuzzParse: no file makes Parse panic, and what it takes it takes again when it is written.
func FuzzParse(f *testing.F) {
	f.Add([]byte(valid))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Parse("x", data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, m); err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("y", b.Bytes()); err != nil {
			t.Fatalf("%v\n%s", err, b.Bytes())
		}
	})
}

// TestNames: the machines that the package brings make sense, and what is none of them is a file.
func TestNames(t *testing.T) {
	if len(Names()) < 6 {
		t.Errorf("only %v", Names())
	}
	for _, name := range Names() {
		m, err := Open(name)
		if err != nil {
			t.Error(err)
		} else if m.Name == "" || m.Source == "" {
			t.Errorf("%s: no name, or no source", name)
		}
	}
	if _, err := Open("./" + Names()[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that there is not: %v", err)
	}
}
