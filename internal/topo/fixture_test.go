package topo

import (
	"fmt"
	"testing/fstest"
)

// tree is the root directory of a machine that exists in tests only.
type tree fstest.MapFS

func (t tree) put(name, content string) {
	t[name] = &fstest.MapFile{Data: []byte(content + "\n")}
}

func (t tree) fs() fstest.MapFS { return fstest.MapFS(t) }

// machine describes a regular machine: sockets NUMA nodes of cores cores with
// threads threads each, numbered as Linux does on x86: all first threads of
// all sockets, then all second ones.
func machine(sockets, cores, threads int) tree {
	t := tree{}
	total := sockets * cores * threads
	t.put("proc/meminfo", "MemTotal:       16384 kB\nMemFree:        1 kB")
	t.put(sysCPU+"/online", fmt.Sprintf("0-%d", total-1))
	t.put(sysNode+"/online", CPUSet(upTo(sockets)).String())
	for s := range sockets {
		var node CPUSet
		for c := range cores {
			var siblings CPUSet
			for th := range threads {
				siblings = append(siblings, th*sockets*cores+s*cores+c)
			}
			node = append(node, siblings...)
			for _, cpu := range siblings {
				dir := fmt.Sprintf("%s/cpu%d", sysCPU, cpu)
				t.put(dir+"/topology/thread_siblings_list", siblings.String())
				t.put(dir+"/topology/physical_package_id", fmt.Sprint(s))
				t.cache(cpu, 0, 1, "Data", "48K", siblings)
				t.cache(cpu, 1, 1, "Instruction", "32K", siblings)
				t.cache(cpu, 2, 2, "Unified", "2048K", siblings)
			}
		}
		node = newCPUSet(node)
		for _, cpu := range node {
			t.cache(cpu, 3, 3, "Unified", "32M", node)
		}
		dir := fmt.Sprintf("%s/node%d", sysNode, s)
		t.put(dir+"/cpulist", node.String())
		t.put(dir+"/meminfo", fmt.Sprintf("Node %d MemTotal:       8192 kB\nNode %d MemFree: 1 kB", s, s))
	}
	return t
}

func (t tree) cache(cpu, index, level int, kind, size string, shared CPUSet) {
	dir := fmt.Sprintf("%s/cpu%d/cache/index%d", sysCPU, cpu, index)
	t.put(dir+"/level", fmt.Sprint(level))
	t.put(dir+"/type", kind)
	t.put(dir+"/size", size)
	t.put(dir+"/coherency_line_size", "64")
	t.put(dir+"/shared_cpu_list", shared.String())
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}
