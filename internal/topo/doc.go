// Package topo says what this machine is, as far as placing workers needs it:
// the processor and its instruction set extensions, cores and their SMT
// siblings, caches, NUMA nodes, and what the operating system lets this
// process have of them (affinity, cgroup quota and memory limit).
//
// [Detect] looks at the running machine and [Read] at the files of any Linux
// machine. Neither fails: what cannot be found out is replaced by a
// conservative guess, and [Machine.Notes] says which and why.
//
// [Machine.Spread] places workers on CPUs; [Pin] and [Lock] bind an operating
// system thread to them.
package topo
