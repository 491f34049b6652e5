package topo

import (
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestReadTwoSocketsSMT(t *testing.T) {
	m := Read(machine(2, 4, 2).fs(), Identity{OS: "linux", Arch: "amd64", Brand: "Test"}, upTo(16))
	if got := len(m.Cores); got != 8 {
		t.Errorf("%d cores, want 8", got)
	}
	if got := m.Cores[5]; !cmp.Equal(got, Core{Package: 1, CPUs: CPUSet{5, 13}}) {
		t.Errorf("core 5 is %+v", got)
	}
	want := []Node{
		{ID: 0, CPUs: CPUSet{0, 1, 2, 3, 8, 9, 10, 11}, Memory: 8 << 20},
		{ID: 1, CPUs: CPUSet{4, 5, 6, 7, 12, 13, 14, 15}, Memory: 8 << 20},
	}
	if d := cmp.Diff(want, m.Nodes); d != "" {
		t.Errorf("nodes (-want +got):\n%s", d)
	}
	if m.Packages() != 2 || m.SMT() != 2 || m.Workers() != 8 || m.Memory != 16<<20 {
		t.Errorf("packages %d, SMT %d, workers %d, memory %d", m.Packages(), m.SMT(), m.Workers(), m.Memory)
	}
	if len(m.Caches) != 4 {
		t.Fatalf("caches %+v", m.Caches)
	}
	if l3 := m.Caches[3]; l3.Level != 3 || l3.Size != 32<<20 || l3.Line != 64 || !cmp.Equal(l3.Shared, []CPUSet{want[0].CPUs, want[1].CPUs}) {
		t.Errorf("last-level cache %+v", l3)
	}
	if got := len(m.Caches[0].Shared); got != 8 {
		t.Errorf("%d level-1 data caches, want 8", got)
	}
	if m.CacheSize(1) != 48<<10 || m.CacheSize(2) != 2<<20 || m.CacheSize(4) != 0 {
		t.Errorf("cache sizes %d, %d, %d", m.CacheSize(1), m.CacheSize(2), m.CacheSize(4))
	}
	if got, want := m.String(), "Test, 8 cores with 2 threads, 2 NUMA nodes"; got != want {
		t.Errorf("String is %q, want %q", got, want)
	}
	if m.NodeOf(13) != 1 || m.NodeOf(99) != -1 {
		t.Errorf("NodeOf: %d, %d", m.NodeOf(13), m.NodeOf(99))
	}
}

func TestReadAffinity(t *testing.T) {
	root := machine(2, 4, 2)
	root.put("proc/self/status", "Name:\tx\nCpus_allowed_list:\t5,7,13")
	m := Read(root.fs(), Identity{}, nil)
	if !cmp.Equal(m.Allowed, CPUSet{5, 7, 13}) {
		t.Errorf("allowed %v", m.Allowed)
	}
	if len(m.Cores) != 2 || len(m.Nodes) != 1 || m.Nodes[0].ID != 1 {
		t.Errorf("cores %+v, nodes %+v", m.Cores, m.Nodes)
	}
	// An explicit set wins, and CPUs that are offline do not count.
	m = Read(root.fs(), Identity{}, CPUSet{1, 40})
	if !cmp.Equal(m.Allowed, CPUSet{1}) {
		t.Errorf("allowed %v, want 1", m.Allowed)
	}
}

func TestReadCgroup(t *testing.T) {
	const v2mount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw"
	for _, test := range []struct {
		name          string
		group, mounts string
		files         map[string]string
		quota         float64
		limit         int64
		workers       int
		usable        int64
	}{
		{
			name:  "v2, tightest of the parents",
			group: "0::/a/b", mounts: v2mount,
			files: map[string]string{
				"sys/fs/cgroup/a/b/cpu.max":    "max 100000",
				"sys/fs/cgroup/a/cpu.max":      "250000 100000",
				"sys/fs/cgroup/a/b/memory.max": "8388608",
				"sys/fs/cgroup/a/memory.max":   "max",
			},
			quota: 2.5, limit: 8 << 20, workers: 3, usable: 8 << 20,
		},
		{
			name:  "v2 in a container with a cgroup namespace",
			group: "0::/", mounts: v2mount,
			files: map[string]string{"sys/fs/cgroup/cpu.max": "50000 100000", "sys/fs/cgroup/memory.max": "max"},
			quota: 0.5, workers: 1, usable: 16 << 20,
		},
		{
			name:  "v1 in a container without one",
			group: "4:cpu,cpuacct:/docker/x\n3:memory:/docker/x\n2:freezer:/docker/x",
			mounts: "33 31 0:30 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n" +
				"36 31 0:33 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
			files: map[string]string{
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us":         "300000",
				"sys/fs/cgroup/cpu/cpu.cfs_period_us":        "100000",
				"sys/fs/cgroup/memory/memory.limit_in_bytes": "4194304",
			},
			quota: 3, limit: 4 << 20, workers: 3, usable: 4 << 20,
		},
		{
			name:   "v1 without limits",
			group:  "1:cpu:/\n2:memory:/g",
			mounts: "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n36 31 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
			files: map[string]string{
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us":           "-1",
				"sys/fs/cgroup/cpu/cpu.cfs_period_us":          "100000",
				"sys/fs/cgroup/memory/g/memory.limit_in_bytes": "9223372036854771712",
			},
			workers: 8, usable: 16 << 20,
		},
		{
			name:  "group outside what is mounted, broken files",
			group: "0::/host/slice\nnonsense", mounts: strings.Replace(v2mount, "0:26 /", "0:26 /other", 1) + "\nshort line - x",
			files:   map[string]string{"sys/fs/cgroup/cpu.max": "ten of them", "sys/fs/cgroup/memory.max": "-5"},
			workers: 8, usable: 16 << 20,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := machine(1, 8, 1)
			root.put("proc/self/cgroup", test.group)
			root.put("proc/self/mountinfo", test.mounts)
			for name, content := range test.files {
				root.put(name, content)
			}
			m := Read(root.fs(), Identity{Brand: "Test"}, upTo(8))
			if m.CPUQuota != test.quota || m.MemoryLimit != test.limit {
				t.Errorf("quota %v, limit %d; want %v, %d", m.CPUQuota, m.MemoryLimit, test.quota, test.limit)
			}
			if m.Workers() != test.workers || m.UsableMemory() != test.usable {
				t.Errorf("workers %d, usable memory %d; want %d, %d", m.Workers(), m.UsableMemory(), test.workers, test.usable)
			}
			if len(m.Notes) != 0 {
				t.Errorf("notes %q", m.Notes)
			}
		})
	}
}

func TestReadNothing(t *testing.T) {
	m := Read(fstest.MapFS{}, Identity{OS: "linux", Arch: "amd64"}, CPUSet{2, 3})
	if !cmp.Equal(m.Allowed, CPUSet{2, 3}) || !cmp.Equal(m.Online, CPUSet{2, 3}) {
		t.Errorf("allowed %v, online %v", m.Allowed, m.Online)
	}
	if len(m.Cores) != 2 || len(m.Nodes) != 1 || m.Workers() != 2 {
		t.Errorf("cores %+v, nodes %+v", m.Cores, m.Nodes)
	}
	notes := strings.Join(m.Notes, "\n")
	for _, want := range []string{"online CPUs", "core topology", "NUMA", "caches", "main memory", "CPU quota"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note about %s in:\n%s", want, notes)
		}
	}
	if m := Read(fstest.MapFS{}, Identity{}, nil); len(m.Allowed) == 0 || len(m.Cores) != len(m.Allowed) {
		t.Errorf("with no affinity either: %+v", m)
	}
}

func TestReadOdd(t *testing.T) {
	// Broken numbers everywhere: nothing is believed and nothing fails.
	root := machine(2, 2, 1)
	root.put(sysCPU+"/cpu1/topology/thread_siblings_list", "x")
	root.put(sysCPU+"/cpu1/topology/physical_package_id", "-1")
	root.put(sysCPU+"/cpu1/cache/index0/size", "manyK")
	root.put(sysCPU+"/cpu2/cache/index1/shared_cpu_list", "3")
	root.put(sysNode+"/node0/cpulist", "0-")
	root.put("proc/meminfo", "MemTotal: lots kB")
	m := Read(root.fs(), Identity{}, upTo(4))
	if len(m.Cores) != 4 || m.Memory != 0 || len(m.Notes) < 3 {
		t.Errorf("cores %+v, memory %d, notes %q", m.Cores, m.Memory, m.Notes)
	}
	// A cache whose list leaves out its own CPU is that one's.
	var cached []int
	for _, c := range m.Caches {
		for _, s := range c.Shared {
			if c.Type == "Instruction" {
				cached = append(cached, s...)
			}
		}
	}
	if !cmp.Equal(newCPUSet(cached), CPUSet(upTo(4))) {
		t.Errorf("caches for instructions of CPUs %v", cached)
	}
	// The CPUs of the node that cannot be read stay usable.
	if got := len(m.Spread(4)); got != 4 {
		t.Errorf("%d places", got)
	}
	var cpus []int
	for _, n := range m.Nodes {
		cpus = append(cpus, n.CPUs...)
	}
	if !cmp.Equal(newCPUSet(cpus), CPUSet(upTo(4))) {
		t.Errorf("nodes hold CPUs %v", cpus)
	}
}

func TestReadARM64(t *testing.T) {
	root := machine(1, 4, 1)
	for cpu := range 4 { // no cache files and no package under this firmware
		root.put(sysCPU+"/cpu"+string(rune('0'+cpu))+"/topology/physical_package_id", "-1")
		for i := range 4 {
			delete(root, sysCPU+"/cpu"+string(rune('0'+cpu))+"/cache/index"+string(rune('0'+i))+"/level")
		}
	}
	root.put("proc/cpuinfo", "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n")
	root.put("sys/hypervisor/type", "xen")
	m := Read(root.fs(), Identity{OS: "linux", Arch: "arm64"}, upTo(4))
	if m.Brand != "ARM Neoverse-N1" || m.Hypervisor != "xen" || m.Packages() != 1 || m.KNL() {
		t.Errorf("%q on %q, %d packages, KNL %v", m.Brand, m.Hypervisor, m.Packages(), m.KNL())
	}
	if m.CacheSize(1) != 64<<10 || m.CacheSize(2) != 1<<20 || m.CacheSize(3) != 0 || len(m.Caches) != 2 {
		t.Errorf("caches of another machine: %+v", m.Caches)
	}
	root.put("proc/cpuinfo", "CPU implementer\t: 0x99\nCPU part\t: 0x1\n")
	if got := Read(root.fs(), Identity{}, nil).Brand; got != "ARM implementer 0x99 part 0x1" {
		t.Errorf("brand %q", got)
	}
	delete(root, "proc/cpuinfo")
	root.put("proc/device-tree/model", "Some Board\x00")
	if got := Read(root.fs(), Identity{}, nil).Brand; got != "Some Board" {
		t.Errorf("brand %q", got)
	}
}

func TestGuess(t *testing.T) {
	m := guess(Identity{OS: "darwin"}, 8, 2)
	if len(m.Cores) != 4 || m.SMT() != 2 || len(m.Nodes) != 1 || len(m.Notes) == 0 || len(m.Spread(9)) != 9 {
		t.Errorf("%+v", m)
	}
}

// TestPublished: what a machine lists counts, but on macOS, which lists the smaller caches.
func TestPublished(t *testing.T) {
	own := []Cache{{Level: 1, Type: "Data", Size: 64 << 10}, {Level: 2, Type: "Unified", Size: 4 << 20}}
	for brand, want := range map[string][2]int64{
		"ARM Neoverse-V2": {64 << 10, 4 << 20}, "Apple M1 Max": {128 << 10, 12 << 20}, "Apple M4": {128 << 10, 16 << 20}, "Intel": {64 << 10, 4 << 20},
	} {
		m := &Machine{Identity: Identity{Brand: brand}, Caches: own}
		m.publish()
		if got := [2]int64{m.CacheSize(1), m.CacheSize(2)}; got != want {
			t.Errorf("%s: %v, want %v", brand, got, want)
		}
	}
}

func TestKNL(t *testing.T) {
	for _, test := range []struct {
		id   Identity
		want bool
	}{
		{Identity{Vendor: "GenuineIntel", Family: 6, Model: 0x57}, true},
		{Identity{Vendor: "GenuineIntel", Family: 6, Model: 0x85}, true},
		{Identity{Vendor: "GenuineIntel", Family: 6, Model: 0x55}, false},
		{Identity{Vendor: "AuthenticAMD", Family: 6, Model: 0x57}, false},
	} {
		if got := test.id.KNL(); got != test.want {
			t.Errorf("%+v: %v", test.id, got)
		}
	}
}

func TestDetect(t *testing.T) {
	m := Detect()
	if len(m.Allowed) == 0 || len(m.Cores) == 0 || len(m.Nodes) == 0 || m.Workers() < 1 {
		t.Errorf("%+v", m)
	}
	if m.Arch == "amd64" && !m.Has("sse2") {
		t.Errorf("amd64 without sse2: %v", m.Features)
	}
	t.Logf("%v; family %d model %#x; hypervisor %q; notes %q", m, m.Family, m.Model, m.Hypervisor, m.Notes)
}

func TestParseCPUSet(t *testing.T) {
	for list, want := range map[string]CPUSet{
		"":                       nil,
		"7":                      {7},
		"0-3,8,10-11":            {0, 1, 2, 3, 8, 10, 11},
		"8,2-3,0,3":              {0, 2, 3, 8},
		"4-6,0-9,2,5-7,9-10,0-1": upTo(11),
	} {
		if got, err := ParseCPUSet(list); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q is %v, want %v (%v)", list, got, want, err)
		}
	}
	for _, bad := range []string{",", "-1", "5-2", "1-", "a", "0-131072", "0-999999999999999999999"} {
		if got, err := ParseCPUSet(bad); err == nil {
			t.Errorf("%q is %v", bad, got)
		}
	}
}

// A list that names its CPUs again and again takes no more memory than the set.
func TestParseCPUSetOverlapping(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	set, err := ParseCPUSet("0-131071" + strings.Repeat(",0-131071", 999))
	runtime.ReadMemStats(&after)
	if err != nil || len(set) != maxCPU {
		t.Fatal(len(set), err)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 64<<20 {
		t.Errorf("%d MiB allocated for a set of 1 MiB", got>>20)
	}
}

func FuzzParseCPUSet(f *testing.F) {
	for _, s := range []string{"", "0", "0-3,8", "3,1,2,2", "-1", "5-2", "0-999999999", ","} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		set, err := ParseCPUSet(s)
		if err != nil {
			return
		}
		again, err := ParseCPUSet(set.String())
		if err != nil || !cmp.Equal(set, again) {
			t.Errorf("%q became %v, then %v (%v)", s, set, again, err)
		}
		for i, c := range set {
			if !set.Contains(c) || (i > 0 && set[i-1] >= c) {
				t.Errorf("%q is not a set: %v", s, set)
			}
		}
	})
}
