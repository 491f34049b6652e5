package engine

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/versions"
)

// checkTarget returns what is wrong with a declaration of workers: properties that this machine
// lacks or no version of ops requires. prefix is the option's path in messages; it is not empty
// for one of several kinds.
func checkTarget(ops []*versions.Op, prefix string, t *versions.Target) (bad problems.List) {
	here := exec.Here()
	same := strings.EqualFold
	bad.Check(t.Kind == "" || same(t.Kind, here.Kind), "Target.Kind is %q, and an engine's workers are of kind %s",
		t.Kind, here.Kind)
	bad.Check(t.Arch == "" || same(t.Arch, here.Arch), "Target.Arch is %q, and this machine is %s", t.Arch, here.Arch)
	for _, f := range t.Features {
		has := slices.ContainsFunc(here.Features, func(h string) bool { return same(h, f) })
		bad.Check(has, "Target.Features names %q, which this processor lacks", f)
	}
	bad.Check(t.Memory >= 0 && (here.Memory <= 0 || t.Memory <= here.Memory),
		"Target.Memory is %d, and this process may use %d bytes", t.Memory, here.Memory)
	// One of several kinds may have a name that tells it from the others only.
	if t.Processor != "" && prefix == "" && !same(t.Processor, here.Processor) {
		known := processors(ops)
		asked := slices.ContainsFunc(known, func(name string) bool {
			return versions.Constraints{Processor: name}.Unmet(&versions.Target{Processor: t.Processor}) == ""
		})
		names := cmp.Or(strings.Join(known, ", "), "none")
		bad.Check(asked, "Target.Processor is %q, for which there is no version; known: %s", t.Processor, names)
	}
	most := mostUnits(ops, t)
	bad.Check(t.Units >= 0 && t.Units <= most,
		"Target.Units is %d, and no version that such workers can run takes more than %d", t.Units, most)
	for _, name := range t.Ops {
		has := slices.ContainsFunc(ops, func(op *versions.Op) bool { return op.Name == name || op.OpName() == name })
		bad.Check(has, "Target.Ops names %q, and there is no such operation", name)
	}
	for i := range bad {
		bad[i] = prefix + bad[i]
	}
	return bad
}

// constraints returns the constraints of all versions of ops.
func constraints(ops []*versions.Op) (all []versions.Constraints) {
	for _, op := range ops {
		for _, v := range op.Versions {
			all = append(all, v.Constraints)
		}
	}
	return all
}

// processors returns the names of the processors that versions require.
func processors(ops []*versions.Op) (names []string) {
	for _, c := range constraints(ops) {
		if c.Processor != "" && !slices.Contains(names, c.Processor) {
			names = append(names, c.Processor)
		}
	}
	return names
}

// mostUnits returns the largest number of units that a version takes which the declared workers
// could run if they had enough units.
func mostUnits(ops []*versions.Op, declared *versions.Target) int {
	t := *exec.Here()
	t.Kind, t.Arch, t.Processor = cmp.Or(declared.Kind, t.Kind), cmp.Or(declared.Arch, t.Arch),
		cmp.Or(declared.Processor, t.Processor)
	t.Memory, t.Units = cmp.Or(declared.Memory, t.Memory), math.MaxInt
	if declared.Features != nil {
		t.Features = declared.Features
	}
	most := 1
	for _, c := range constraints(ops) {
		if c.Unmet(&t) == "" {
			most = max(most, c.Units)
		}
	}
	return most
}
