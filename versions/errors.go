package versions

import (
	"cmp"
	"fmt"
	"strings"
)

// NoVersionError reports that no version of an op may run on a worker: the
// configuration and the versions' constraints leave none.
type NoVersionError struct {
	Op      string   // the op's name with its type, "gemm/f64"
	Target  string   // the worker, in words
	Reasons []string // for each version of the op, in its order, "name: reason"
}

func (e *NoVersionError) Error() string {
	if len(e.Reasons) == 0 {
		return fmt.Sprintf("versions: %s has no versions", e.Op)
	}
	return fmt.Sprintf("versions: no version of %s can run on %s (%s)",
		e.Op, e.Target, strings.Join(e.Reasons, "; "))
}

// UnknownNameError reports a word that names nothing.
type UnknownNameError struct {
	What  string   // what it should have named: "version", "op", "mode"
	Name  string   // the word
	Op    string   // the op whose versions Known lists, empty for all ops
	Known []string // what there is, sorted
}

func (e *UnknownNameError) Error() string {
	of := ""
	if e.Op != "" {
		of = " of " + e.Op
	}
	known := strings.Join(e.Known, ", ")
	return fmt.Sprintf("versions: unknown %s %q%s; known: %s", e.What, e.Name, of, cmp.Or(known, "none"))
}

// ConfigError reports everything that is wrong with a [Config], or with a
// list of names, at once.
type ConfigError struct {
	Problems []string
}

func (e *ConfigError) Error() string {
	return "versions: " + strings.Join(e.Problems, "; ")
}

// ProfileError reports that the contents of a file are not a usable profile.
type ProfileError struct {
	File   string // name of the file, empty where there is none
	Reason string
}

func (e *ProfileError) Error() string {
	return cmp.Or(e.File, "profile") + ": " + e.Reason
}

// LockedError reports that a profile could not be saved because another
// process held its lock for too long.
type LockedError struct {
	File string // the lock file
}

func (e *LockedError) Error() string {
	return e.File + ": another process keeps the profile locked"
}

// Warning tells of a file that should have held a profile and did not.
type Warning struct {
	File     string // the profile's name
	SetAside string // where the file is kept now; empty if it was left in place
	Reason   error  // what is wrong with it; why it was left, if it was
}

func (w *Warning) String() string {
	if w.SetAside == "" {
		return fmt.Sprintf("profile not used and left in place: %v", w.Reason)
	}
	return fmt.Sprintf("profile not used: %v; kept as %s", w.Reason, w.SetAside)
}
