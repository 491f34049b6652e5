package la

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// checkTarget returns what is wrong with the declaration of the workers: what
// this machine has not, and what no version of the table asks for.
func (o *Options) checkTarget() (bad []string) {
	t, here := &o.Target, exec.Here()
	if t.Kind != "" && !strings.EqualFold(t.Kind, here.Kind) {
		bad = append(bad, fmt.Sprintf("Target.Kind is %q, and an engine's workers are of kind %s", t.Kind, here.Kind))
	}
	if t.Arch != "" && !strings.EqualFold(t.Arch, here.Arch) {
		bad = append(bad, fmt.Sprintf("Target.Arch is %q, and this machine is %s", t.Arch, here.Arch))
	}
	for _, f := range t.Features {
		if !slices.ContainsFunc(here.Features, func(h string) bool { return strings.EqualFold(h, f) }) {
			bad = append(bad, fmt.Sprintf("Target.Features names %q, which this processor lacks", f))
		}
	}
	if t.Memory < 0 || here.Memory > 0 && t.Memory > here.Memory {
		bad = append(bad, fmt.Sprintf("Target.Memory is %d, and this process may use %d bytes", t.Memory, here.Memory))
	}
	if t.Processor != "" && !strings.EqualFold(t.Processor, here.Processor) {
		if known := o.processors(); !slices.ContainsFunc(known, func(name string) bool {
			return versions.Constraints{Processor: name}.Unmet(&versions.Target{Processor: t.Processor}) == ""
		}) {
			names := cmp.Or(strings.Join(known, ", "), "none")
			bad = append(bad, fmt.Sprintf("Target.Processor is %q, for which there is no version; known: %s", t.Processor, names))
		}
	}
	if most := o.mostUnits(); t.Units < 0 || t.Units > most {
		bad = append(bad, fmt.Sprintf("Target.Units is %d, and no version that such workers can run takes more than %d", t.Units, most))
	}
	return bad
}

// constraints returns the constraints of all versions of the engine's table.
func (o *Options) constraints() (all []versions.Constraints) {
	table := o.Table
	if table == nil {
		table = buildTable()
	}
	for _, op := range table.All() {
		for _, v := range op.Versions {
			all = append(all, v.Constraints)
		}
	}
	return all
}

// processors returns the names of the processors that versions ask for.
func (o *Options) processors() (names []string) {
	for _, c := range o.constraints() {
		if c.Processor != "" && !slices.Contains(names, c.Processor) {
			names = append(names, c.Processor)
		}
	}
	return names
}

// mostUnits returns the largest number of units that a version takes which the
// declared workers could run if they had enough of them.
func (o *Options) mostUnits() int {
	t := *exec.Here()
	t.Kind, t.Arch, t.Processor = cmp.Or(o.Target.Kind, t.Kind), cmp.Or(o.Target.Arch, t.Arch), cmp.Or(o.Target.Processor, t.Processor)
	t.Memory, t.Units = cmp.Or(o.Target.Memory, t.Memory), math.MaxInt
	if o.Target.Features != nil {
		t.Features = o.Target.Features
	}
	most := 1
	for _, c := range o.constraints() {
		if c.Unmet(&t) == "" {
			most = max(most, c.Units)
		}
	}
	return most
}
