package file

import "github.com/tessera-la/tessera/versions"

// Ops returns the ops of tasks that read and write matrix files and states: see [ReadTiles],
// [WriteTiles], [ReadStateTiles] and [WriteStateTiles]. Nodes that execute such tasks list these ops,
// as they list those of package kernels.
func Ops() (all []*versions.Op) {
	for _, op := range []opPair{readingNPY(), writingNPY(), readingState(), writingState()} {
		all = append(all, op.f32, op.f64)
	}
	return all
}

// Errors returns an error of each type that these ops return, for programs of several nodes.
func Errors() []error { return []error{&FormatError{}, &AccessError{}, &StateError{}} }
