package machinefile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/tessera-la/tessera/exec/sim"
	"github.com/tessera-la/tessera/internal/tomltext"
)

// FileError reports an error in a machine file.
type FileError struct {
	File   string
	Line   int // 0 if unknown
	Reason string
}

func (e *FileError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s: %s", e.File, e.Reason)
}

// maxFile is the largest size of a machine file in bytes.
const maxFile = 16 << 20

// Read reads a machine from a file. The error is a *FileError, or the system's.
func Read(file string) (*sim.Machine, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, &FileError{file, 0, fmt.Sprintf("larger than %d bytes", maxFile)}
	}
	return Parse(file, data)
}

// Parse is [Read] of a file with that name and content.
func Parse(file string, data []byte) (*sim.Machine, error) {
	m := &sim.Machine{}
	if err := tomltext.Decode(string(data), m); err != nil {
		e := &FileError{file, 0, err.Error()}
		if at := (*tomltext.Error)(nil); errors.As(err, &at) {
			e.Line, e.Reason = at.Line, at.Reason
		}
		return nil, e
	}
	if err := m.Validate(); err != nil {
		e := &FileError{file, 0, err.Error()}
		if bad := (*sim.MachineError)(nil); errors.As(err, &bad) {
			e.Reason = strings.Join(bad.Problems, "; ")
		}
		return nil, e
	}
	return m, nil
}

// Write writes a machine as a file.
func Write(w io.Writer, m *sim.Machine) error {
	var b bytes.Buffer
	e := toml.NewEncoder(&b)
	e.Indent = ""
	if err := e.Encode(m); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
