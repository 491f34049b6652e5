package quiet

import (
	"errors"
	"fmt"
	"math"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/tessera-la/tessera/internal/topo"
)

// machine is a root directory with proc/stat of two CPUs.
func machine(cpu0, cpu1 string) fstest.MapFS {
	return fstest.MapFS{"proc/stat": &fstest.MapFile{Data: []byte("cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 " + cpu0 + "\ncpu1 " + cpu1 + "\nintr 5\n")}}
}

// TestWatch: others are what is busy beside this process, on its CPUs; steal is the
// hypervisor's, and idle and waiting are nobody's.
func TestWatch(t *testing.T) {
	both := topo.CPUSet{0, 1}
	for name, test := range map[string]struct {
		allowed       topo.CPUSet
		to0, to1      string
		mine, seconds float64
		others, steal float64
		ok            bool
	}{
		"quiet":       {both, "300 0 0 100 0 0 0 0 0 0", "0 0 0 400 0 0 0 0 0 0", 2, 2, 0, 0, true},
		"others":      {both, "300 0 0 100 0 0 0 0 0 0", "50 50 50 300 7 25 25 0 99 9", 2, 2, 0.99, 0, true},
		"other CPU":   {topo.CPUSet{0}, "300 0 0 100 0 0 0 0 0 0", "200 0 0 100 0 0 0 0 0 0", 2, 2, 0, 0, true},
		"steal":       {both, "300 0 0 100 0 0 0 42 0 0", "0 0 0 400 0 0 0 0 0 0", 2, 2, 0, 0.2, true},
		"too short":   {both, "300 0 0 100 0 0 0 0 0 0", "0 0 0 400 0 0 0 0 0 0", 0, 0.05, 0, 0, false},
		"CPU is gone": {topo.CPUSet{0, 7}, "300 0 0 100 0 0 0 0 0 0", "0 0 0 400 0 0 0 0 0 0", 0, 2, 0, 0, false},
		"no numbers":  {both, "a b c d e f g h i j", "0 0 0 400 0 0 0 0 0 0", 0, 2, 0, 0, false},
	} {
		mine := 5.0
		root := machine("100 0 0 100 0 0 0 0 0 0", "0 0 0 300 0 0 0 0 0 0")
		w := start(root, test.allowed, func() (float64, bool) { return mine, true })
		mine += test.mine
		root["proc/stat"] = machine(test.to0, test.to1)["proc/stat"]
		l, ok := w.stop(test.seconds)
		if ok != test.ok || math.Abs(l.Others-test.others) > 1e-9 || math.Abs(l.Steal-test.steal) > 1e-9 {
			t.Errorf("%s: %+v, %t; want %v, %v, %t", name, l, ok, test.others, test.steal, test.ok)
		}
	}
	w := start(fstest.MapFS{}, both, func() (float64, bool) { return 0, false })
	if _, ok := w.stop(9); ok {
		t.Error("a load of a machine that counts nothing")
	}
}

// TestChildren: what agents of a run take is not others'.
func TestChildren(t *testing.T) {
	root := machine("0 0 0 0 0 0 0 0 0 0", "0 0 0 0 0 0 0 0 0 0")
	w := start(root, topo.CPUSet{0, 1}, func() (float64, bool) { return 0, true })
	root["proc/stat"] = machine("200 0 0 0 0 0 0 0 0 0", "202 0 0 0 0 0 0 0 0 0")["proc/stat"]
	stat := func(parent, user, system int) *fstest.MapFile {
		return &fstest.MapFile{Data: fmt.Appendf(nil, "7 (a) b) S %d 1 1 0 -1 4194560 5 0 0 0 %d %d 9 9 20 0 1 0 5", parent, user, system)}
	}
	root["proc/7/stat"], root["proc/8/stat"] = stat(os.Getpid(), 150, 50), stat(os.Getpid()+1, 100, 0)
	root["proc/self/stat"], root["proc/9/stat"] = stat(os.Getpid(), 500, 0), &fstest.MapFile{Data: []byte("9 (gone")}
	if l, ok := w.stop(2); !ok || math.Abs(l.Others-1) > 1e-9 {
		t.Errorf("others had %v CPUs, want 1, %t", l.Others, ok)
	}
}

// TestDisturbs: what others take of the CPUs that the workers leave costs these nothing.
func TestDisturbs(t *testing.T) {
	for _, test := range []struct {
		l       Load
		workers int
		want    bool
		says    string
	}{
		{Load{CPUs: 2}, 2, false, "nothing else ran"},
		{Load{CPUs: 2, Others: 0.09}, 2, false, "other programs had 0.09 of 2 CPUs"},
		{Load{CPUs: 2, Others: 0.2}, 2, true, "other programs had 0.20 of 2 CPUs"},
		{Load{CPUs: 2, Others: 0.9}, 1, false, "other programs had 0.90 of 2 CPUs"},
		{Load{CPUs: 2, Others: 1.3}, 1, true, "other programs had 1.30 of 2 CPUs"},
		{Load{CPUs: 2, Others: 0.2}, 9, true, "other programs had 0.20 of 2 CPUs"},
		{Load{CPUs: 1, Steal: 0.1}, 1, true, "the hypervisor kept 0.10 of 1 CPU"},
		{Load{CPUs: 4, Others: 0.5, Steal: 0.1}, 1, true, "other programs had 0.50 of 4 CPUs, and the hypervisor kept 0.10 of 4 CPUs"},
	} {
		if got := test.l.Disturbs(test.workers); got != test.want || test.l.String() != test.says {
			t.Errorf("%+v, %d workers: %t, %q; want %t, %q", test.l, test.workers, got, test.l, test.want, test.says)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		times []float64
		want  float64
	}{{nil, 0}, {[]float64{3}, 0}, {[]float64{2, 3, 2.5}, 0.5}, {[]float64{0, 1}, 0}} {
		if got := Spread(test.times); got != test.want {
			t.Errorf("%v: %v, want %v", test.times, got, test.want)
		}
	}
}

func TestReadNow(t *testing.T) {
	root := fstest.MapFS{"proc/loadavg": &fstest.MapFile{Data: []byte("4.67 3.58 2.18 3/310 4546\n")}}
	if n, ok := ReadNow(root); !ok || n.Average != [3]float64{4.67, 3.58, 2.18} || n.Pressure != -1 {
		t.Errorf("%+v, %t", n, ok)
	}
	root["proc/pressure/cpu"] = &fstest.MapFile{Data: []byte("some avg10=32.47 avg60=46.67 avg300=36.28 total=350251219\nfull avg10=0.00 avg60=0 avg300=0 total=0\n")}
	if n, ok := ReadNow(root); !ok || math.Abs(n.Pressure-0.3247) > 1e-12 {
		t.Errorf("%+v, %t", n, ok)
	}
	for _, text := range []string{"", "1 2", "a b c"} {
		root["proc/loadavg"] = &fstest.MapFile{Data: []byte(text)}
		if _, ok := ReadNow(root); ok {
			t.Errorf("%q is a load", text)
		}
	}
}

// TestHere: on this machine it works, or says that it does not; what this process computes is
// not somebody else's.
func TestHere(t *testing.T) {
	w := Start()
	for begin := time.Now(); time.Since(begin) < 150*time.Millisecond; {
	}
	if l, ok := w.Stop(); ok && (l.Others < 0 || l.Others > float64(l.CPUs)+0.1 || l.Steal < 0 || l.Seconds < 0.1 || l.CPUs < 1) {
		t.Errorf("%+v", l)
	}
}

// TestQuietly: what is disturbed is measured again, and what is disturbed each time is told.
func TestQuietly(t *testing.T) {
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		others    []float64 // of CPU 1, in each call
		fails     bool
		calls     int
		disturbed bool
	}{
		"quiet":  {[]float64{0}, false, 1, false},
		"once":   {[]float64{150, 0}, false, 2, false},
		"always": {[]float64{150, 90, 150, 0}, false, 3, true},
		"error":  {[]float64{0}, true, 1, false},
	} {
		calls, busy := 0, 0.0
		root := fstest.MapFS{}
		set := func() {
			root["proc/stat"] = machine("0 0 0 0 0 0 0 0 0 0", fmt.Sprintf("%g 0 0 0 0 0 0 0 0 0", busy))["proc/stat"]
		}
		set()
		l, disturbed, err := quietly(2, func() error {
			busy += test.others[calls]
			calls++
			set()
			if test.fails {
				return boom
			}
			return nil
		}, func() *Watch {
			w := start(root, topo.CPUSet{0, 1}, func() (float64, bool) { return 0, true })
			w.begin = w.begin.Add(-time.Second)
			return w
		})
		if calls != test.calls || disturbed != test.disturbed || (err != nil) != test.fails || test.disturbed && !(l.Others > 0.5 && l.Others < 0.95) {
			t.Errorf("%s: %d calls, %+v, %t, %v", name, calls, l, disturbed, err)
		}
	}
}
