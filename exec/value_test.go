package exec_test

import (
	"errors"
	"io"

	"github.com/tessera-la/tessera/versions"
)

// local is the part of versions.Value that has to do with other processes, for
// values of tests.
type local struct{}

func (local) Bytes() int64           { return 8 }
func (local) Encode(io.Writer) error { return errors.ErrUnsupported }
func (local) Decode(io.Reader) error { return errors.ErrUnsupported }

func (c *cell) Snapshot() versions.Value { s := *c; return &s }
func (c *cell) Restore(s versions.Value) { *c = *s.(*cell) }

func (v *soakValue) Snapshot() versions.Value { s := *v; return &s }
func (v *soakValue) Restore(s versions.Value) { *v = *s.(*soakValue) }
