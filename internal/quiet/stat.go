package quiet

import (
	"io/fs"
	"strconv"
	"strings"

	"github.com/tessera-la/tessera/internal/topo"
)

// counters are the kernel's counters since it started, in seconds.
type counters struct {
	busy, steal float64
}

// userHZ is the number of ticks of /proc/stat in a second. It is 100 on all architectures.
const userHZ = 100

// readStat adds up the counters of the given CPUs in proc/stat below root. It returns false if one of them is
// missing.
func readStat(root fs.FS, of topo.CPUSet) (c counters, ok bool) {
	text, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return c, false
	}
	found := 0
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 9 || !strings.HasPrefix(f[0], "cpu") {
			continue
		}
		cpu, err := strconv.Atoi(f[0][len("cpu"):])
		if err != nil || !of.Contains(cpu) { // the first line is the sum of all
			continue
		}
		var n [8]float64 // user nice system idle iowait irq softirq steal; guests are in user and nice
		for i := range n {
			if n[i], err = strconv.ParseFloat(f[1+i], 64); err != nil {
				return c, false
			}
		}
		c.busy += (n[0] + n[1] + n[2] + n[5] + n[6]) / userHZ
		c.steal += n[7] / userHZ
		found++
	}
	return c, found == len(of) && found > 0
}

// readChildren returns the CPU time in seconds of the running children of a process. They are the agents of a
// cluster that it has started.
func readChildren(root fs.FS, process int) (seconds float64) {
	all, _ := fs.ReadDir(root, "proc")
	for _, entry := range all {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		text, _ := fs.ReadFile(root, "proc/"+entry.Name()+"/stat")
		// The name, in parentheses, may hold anything. Behind it are state and parent; user and system time are
		// fields 11 and 12 after the state.
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(f) < 13 || f[1] != strconv.Itoa(process) {
			continue
		}
		for _, x := range f[11:13] {
			n, _ := strconv.ParseFloat(x, 64)
			seconds += n / userHZ
		}
	}
	return seconds
}

// Now is the load that the kernel reports at this moment.
type Now struct {
	Average  [3]float64 // runnable threads, averaged over 1, 5 and 15 minutes
	Pressure float64    // part of the last 10 seconds in which some thread waited for a CPU; -1 if unknown
}

// ReadNow reads the load from proc below root. It returns false if it is unknown.
func ReadNow(root fs.FS) (n Now, ok bool) {
	text, err := fs.ReadFile(root, "proc/loadavg")
	f := strings.Fields(string(text))
	if err != nil || len(f) < 3 {
		return n, false
	}
	for i := range n.Average {
		if n.Average[i], err = strconv.ParseFloat(f[i], 64); err != nil {
			return n, false
		}
	}
	n.Pressure = -1
	text, _ = fs.ReadFile(root, "proc/pressure/cpu")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "some" {
			if x, err := strconv.ParseFloat(strings.TrimPrefix(f[1], "avg10="), 64); err == nil {
				n.Pressure = x / 100
			}
		}
	}
	return n, true
}
