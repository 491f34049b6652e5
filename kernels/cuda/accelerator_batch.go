package cuda

import (
	"fmt"

	"github.com/tessera-la/tessera/versions"
)

// BatchError says that calls cannot be started as one.
type BatchError struct{ Reason string }

func (e *BatchError) Error() string { return "cuda: no batch: " + e.Reason }

// LaunchBatch starts several calls of a version, with equal keys (see
// [versions.Batch]), as one: what the device takes for them is shared out among
// them. If it returns an error, none has been started: it is Launch's, for the
// call that it is due to or because they do not have room together, that of the
// batch's Run, or a *[BatchError] if the calls do not go together. A batch's Run
// that panics leaves what the calls write undefined.
func (a *Accelerator) LaunchBatch(all []*versions.Launch) error {
	if len(all) == 1 {
		return a.Launch(all[0])
	}
	if err := batchable(all); err != nil {
		return err
	}
	return a.launch(all)
}

// batchable returns a *BatchError unless the calls can be one.
func batchable(all []*versions.Launch) error {
	if len(all) == 0 || all[0].Version.Batch == nil {
		return &BatchError{"no calls, or of a version without batches"}
	}
	writes := make(map[any]int) // by value, which call does
	for i, l := range all {
		if l.Version != all[0].Version {
			return &BatchError{fmt.Sprintf("versions %s and %s", all[0].Version.Name, l.Version.Name)}
		}
		for k, v := range l.Call.Args {
			if l.Uses[k]&versions.Writes != 0 {
				if w, ok := writes[v]; ok && w != i {
					return &BatchError{"two calls write the same value"}
				}
				writes[v] = i
			}
		}
	}
	for i, l := range all {
		for _, v := range l.Call.Args {
			if w, ok := writes[v]; ok && w != i {
				return &BatchError{"a call uses what another one writes"}
			}
		}
	}
	return nil
}
