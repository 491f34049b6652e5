//go:build !unix

package file

import (
	"errors"
	"os"
)

// mapFile maps the first size bytes of f into memory, to be read only. An
// error means that f has to be read instead: always so on this system.
func mapFile(*os.File, int64) ([]byte, error) { return nil, errors.ErrUnsupported }

// unmapFile undoes mapFile.
func unmapFile([]byte) error { return nil }
