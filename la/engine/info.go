package engine

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/kernels/op"
)

// Info describes what an engine computes with.
type Info struct {
	Module string `json:"module"` // path and version of this module in the program
	Go     string `json:"go"`

	Processor string `json:"processor"` // of the first worker; its architecture if that is all that is known
	Workers   int    `json:"workers"`   // on cores
	// WorkersBy says what decides the number of workers: "options", "environment" (TESSERA_WORKERS)
	// or "machine", by its cores and the limits of the process. For a nil engine whose calls cannot
	// start workers it is the error.
	WorkersBy    string   `json:"workers_by"`
	Pinned       bool     `json:"pinned"` // each worker to a core of its own, or one that it shares
	Accelerators []string `json:"accelerators,omitempty"`
	Policy       string   `json:"policy"` // "own" for one of Options.NewPolicy, "the runtime's" with Options.Runtime

	// Library is the C library of this build, nil without one. Its calls may use Library.Threads
	// threads of the whole process: 1, as the workers are the parallelism.
	Library *op.Library `json:"library,omitempty"`

	// Versions maps each operation to the version that the engine would select now on its first
	// worker: "gemm/f64" → "avx512". If the choice depends on the size, it is that for a very small
	// operand.
	Versions map[string]string `json:"versions"`
}

// Info describes what the engine computes with, for a program's log or an error report. For a nil
// engine it describes the workers that its calls would start.
func (e *Engine) Info() Info {
	x := Info{Go: runtime.Version(), Policy: e.Options().Scheduling().String(), Versions: map[string]string{}}
	switch o := e.Options(); {
	case o.Runtime != nil:
		x.Policy = "the runtime's"
	case o.NewPolicy != nil:
		x.Policy = "own"
	}
	x.Module = modulePath
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == modulePath {
				x.Module += " " + m.Version
			}
		}
	}
	selector, target := e.selection()
	x.Processor = cmp.Or(target.Processor, target.Arch)
	x.WorkersBy = "machine"
	switch o := e.Options(); {
	case o.Runtime != nil, o.Resources != nil, o.Workers > 0:
		x.WorkersBy = "options"
	case os.Getenv(exec.WorkersVariable) != "":
		x.WorkersBy = "environment"
	}
	rt, end, err := e.acquire()
	if err != nil {
		x.WorkersBy = err.Error()
	} else {
		defer end(true)
		x.Pinned = true
		for _, w := range rt.Workers() {
			if w.Accelerator != "" {
				x.Accelerators = append(x.Accelerators, w.Accelerator)
				continue
			}
			x.Workers++
			x.Pinned = x.Pinned && w.CPUs != nil
		}
	}
	if library, ok := op.LinkedLibrary(); ok {
		x.Library = &library
	}
	for _, op := range e.Table().All() {
		x.Versions[op.OpName()] = selector.Explain(op, nil, target).Chosen
	}
	return x
}

const modulePath = "github.com/tessera-la/tessera"

// String returns x in a few lines of at most 80 characters.
func (x Info) String() string {
	var b strings.Builder
	list := func(head string, words ...string) {
		line := head
		for i, w := range words {
			if i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > 80 {
				b.WriteString(line + "\n")
				line = " "
			}
			line += " " + w
		}
		b.WriteString(line + "\n")
	}
	list(x.Module+",", x.Go)
	pinned := "not pinned"
	if x.Pinned {
		pinned = "pinned"
	}
	list("workers:", append([]string{fmt.Sprintf("%d (%s), %s, policy %s, on", x.Workers, x.WorkersBy, pinned,
		x.Policy)}, strings.Fields(x.Processor)...)...)
	if x.Accelerators != nil {
		list("accelerators:", strings.Fields(strings.Join(x.Accelerators, ", "))...)
	}
	if x.Library != nil {
		fmt.Fprintf(&b, "library: %s %s, threads of a call: %d\n", x.Library.Name, x.Library.Core, x.Library.Threads)
	}
	// What users know comes first, and of that the type that they use most.
	known := op.Names()
	place := func(op string) int {
		name, _, _ := strings.Cut(op, "/")
		if i := slices.Index(known, name); i >= 0 {
			return i
		}
		return len(known)
	}
	var order []string // of versions
	by := map[string][]string{}
	for _, op := range slices.SortedFunc(maps.Keys(x.Versions), func(a, b string) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(b, a))
	}) {
		version := x.Versions[op]
		if by[version] == nil {
			order = append(order, version)
		}
		by[version] = append(by[version], op)
	}
	for _, version := range order {
		list(version+":", by[version]...)
	}
	return b.String()
}
