package versions

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/internal/problems"
	"github.com/tessera-la/tessera/internal/words"
)

// Mode is how a [Selector] chooses among the eligible versions of an op.
type Mode uint8

const (
	// Profiled runs every eligible version a few times per size class, as far as
	// the budget of the calls' job ([Call.Budget]) allows, and takes the one with
	// the lowest expected time of those known. The default.
	Profiled Mode = iota
	// Static takes the first eligible version in the order of preference
	// ([Config.Only], else [Op.Versions]). It explores and times nothing.
	Static
	// Thorough is Profiled whatever exploring costs: for tuning.
	Thorough
)

var modes = words.Of[Mode]{Profiled: "profiled", Static: "static", Thorough: "thorough"}

// String returns the mode's name.
func (m Mode) String() string { return modes.Name(m) }

// Pin fixes the version of one op.
type Pin struct {
	Op      string // "gemm" for every element type that has the version, or "gemm/f64"
	Version string
}

// DefaultExplore is how often a version is explored per size class where
// [Config.Explore] is zero. The first run in a process is only a warm-up; of
// four more one or two may be disturbed by other programs.
const DefaultExplore = 5

const maxExplore = 1 << 20

// Config is what a [Selector] works by. The zero value explores every
// eligible version [DefaultExplore] times per size class where a [Budget]
// allows it, and forgets what it learned when the process ends.
type Config struct {
	// Mode is how to choose where more than one version is left.
	Mode Mode
	// Explore is the number of runs of each version per size class that are
	// enough to know it; 0 means DefaultExplore.
	Explore int
	// Only names the versions that may run, in order of preference. An op
	// that has at least one of them is restricted to those it has. An op
	// that has none keeps all its versions, so that "openblas" can be asked
	// for where only some ops have it. A worker that cannot run any named
	// version of an op does not silently get another one: Select returns a
	// NoVersionError.
	Only []string
	// Exclude names versions that no op may run. Where Only names a version
	// too, the Config is refused.
	Exclude []string
	// Fixed fixes the version of single ops, against Only. As with Only, an element type that
	// does not have the version keeps all its own, unless the pin names that type
	// ("gemm/f64"). The last pin that names an op's type wins over those that do not.
	Fixed []Pin
	// Measure makes the selector time versions without a rival, too, for [Selector.Expect].
	Measure bool
	// Profile is the knowledge from earlier runs, to which new times are added. Nil means an empty
	// one. Several selectors may share it.
	Profile *Profile
}

// validate reports every problem of c alone at once, as a *ConfigError.
func (c *Config) validate() error {
	var bad problems.List
	bad.Check(int(c.Mode) < len(modes), "%v is not a mode", c.Mode)
	bad.Check(c.Explore >= 0 && c.Explore <= maxExplore, "Explore is %d, must be between 0 and %d", c.Explore, maxExplore)
	checkList(&bad, "Only", c.Only)
	checkList(&bad, "Exclude", c.Exclude)
	for _, name := range c.Only {
		bad.Check(!slices.Contains(c.Exclude, name), "version %q is both asked for and excluded", name)
	}
	for _, p := range c.Fixed {
		switch {
		case p.Op == "" || p.Version == "":
			bad.Add("Fixed has an empty name in %q=%q", p.Op, p.Version)
		case slices.Contains(c.Exclude, p.Version):
			bad.Add("%s is fixed to version %q, which is excluded", p.Op, p.Version)
		}
	}
	if bad != nil {
		return &ConfigError{Problems: bad}
	}
	return nil
}

func checkList(bad *problems.List, field string, names []string) {
	for i, name := range names {
		bad.Check(name != "", "%s has an empty name", field)
		bad.Check(name == "" || !slices.Contains(names[:i], name), "%s names %q twice", field, name)
	}
}

// checkNames returns an *UnknownNameError, or several joined, for the names in c
// that none of the ops has.
func (c *Config) checkNames(ops []*Op) error {
	var all, names []string
	for _, op := range ops {
		names = append(names, op.Name)
		for i := range op.Versions {
			all = append(all, op.Versions[i].Name)
		}
	}
	all, names = sorted(all), sorted(names)

	var errs []error
	for _, name := range slices.Concat(c.Only, c.Exclude) {
		if !slices.Contains(all, name) {
			errs = append(errs, &UnknownNameError{What: "version", Name: name, Known: all})
		}
	}
	for _, p := range c.Fixed {
		var known []string
		found := false
		for _, op := range ops {
			if p.Op != op.Name && p.Op != op.OpName() {
				continue
			}
			found = true
			for i := range op.Versions {
				known = append(known, op.Versions[i].Name)
			}
		}
		if !found {
			errs = append(errs, &UnknownNameError{What: "op", Name: p.Op, Known: names})
		} else if !slices.Contains(known, p.Version) {
			errs = append(errs, &UnknownNameError{What: "version", Name: p.Version, Op: p.Op, Known: sorted(known)})
		}
	}
	return errors.Join(errs...)
}

func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// candidates returns the indices of the versions of op that c allows, in
// order of preference, and for each version of op the reason why it is not
// among them, or "".
func (c *Config) candidates(op *Op) (order []int, barred []string) {
	barred = make([]string, len(op.Versions))
	pin := c.pin(op)
	only := slices.ContainsFunc(c.Only, func(name string) bool { return op.Version(name) != nil })
	for i := range op.Versions {
		name := op.Versions[i].Name
		switch {
		case pin != "" && name != pin:
			barred[i] = fmt.Sprintf("%s is fixed to version %s", op.Name, pin)
		case pin != "":
			order = append(order, i)
		case slices.Contains(c.Exclude, name):
			barred[i] = "excluded"
		case only && !slices.Contains(c.Only, name):
			barred[i] = "not among the versions asked for"
		default:
			order = append(order, i)
		}
	}
	if pin == "" && only {
		slices.SortStableFunc(order, func(i, j int) int {
			return slices.Index(c.Only, op.Versions[i].Name) - slices.Index(c.Only, op.Versions[j].Name)
		})
	}
	return order, barred
}

// soleReason returns why c allows only one version of op.
func (c *Config) soleReason(op *Op) Why {
	if c.pin(op) != "" || slices.ContainsFunc(c.Only, func(name string) bool { return op.Version(name) != nil }) {
		return Pinned
	}
	return Remaining
}

// pin returns the version that op is fixed to, or "".
func (c *Config) pin(op *Op) (version string) {
	typed := false
	for _, p := range c.Fixed {
		switch {
		case p.Op == op.OpName() && op.Type != "":
			version, typed = p.Version, true
		case p.Op == op.Name && !typed && op.Version(p.Version) != nil:
			version = p.Version
		}
	}
	return version
}

// ParseNames reads a comma-separated list of version names, as a command
// line has them: "avx2,openblas". Space around a name is dropped; the empty
// list is nil. An empty name, a repeated one or a pin gives a *[ConfigError].
func ParseNames(list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	var bad problems.List
	checkList(&bad, "the list", names)
	for _, name := range names {
		bad.Check(!strings.Contains(name, "="), "%q fixes an op, where a version's name is wanted", name)
	}
	if bad != nil {
		return nil, &ConfigError{Problems: bad}
	}
	return names, nil
}

// ParsePins reads a comma-separated list of pins: "gemm=openblas,potrf/f64=go".
// Space around names is dropped; the empty list is nil. Anything that is not
// op=version gives a *[ConfigError].
func ParsePins(list string) ([]Pin, error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	var pins []Pin
	var bad problems.List
	for item := range strings.SplitSeq(list, ",") {
		op, version, ok := strings.Cut(item, "=")
		op, version = strings.TrimSpace(op), strings.TrimSpace(version)
		if !ok || op == "" || version == "" || strings.Contains(version, "=") {
			bad.Add("%q is not of the form op=version", strings.TrimSpace(item))
			continue
		}
		pins = append(pins, Pin{Op: op, Version: version})
	}
	if bad != nil {
		return nil, &ConfigError{Problems: bad}
	}
	return pins, nil
}
