package machinefile

import (
	"embed"
	"path"
	"slices"
	"strings"

	"github.com/tessera-la/tessera/exec/sim"
)

// papers are the machines of the papers that Tessera follows: each file cites the source of its
// figures.
//
//go:embed papers/*.toml
var papers embed.FS

// Names returns the names of machines that [Open] knows.
func Names() (all []string) {
	files, err := papers.ReadDir("papers")
	if err != nil {
		panic(err) // the files are embedded
	}
	for _, f := range files {
		all = append(all, strings.TrimSuffix(f.Name(), ".toml"))
	}
	return all
}

// Open returns the machine with one of [Names], or else reads the file name; ./NAME is always a
// file. The error is a *FileError, or the system's.
func Open(name string) (*sim.Machine, error) {
	if !slices.Contains(Names(), name) {
		return Read(name)
	}
	file := path.Join("papers", name+".toml")
	data, err := papers.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, data)
}
