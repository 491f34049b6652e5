package setup

import (
	"fmt"
	"os"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/internal/tomltext"
	"github.com/tessera-la/tessera/versions"
)

// ReadResources reads a resources file: workers of several kinds, each a table
//
//	[[workers]]
//	count = 2
//	processor = "KNL"
//	arch = "amd64"
//	features = ["avx512f"]
//	units = 1
//	memory = 1_000_000_000 # bytes
//	ops = ["gemm"]         # these only
//
// Only count is required, and at least 1. The other settings default to those of this machine.
func ReadResources(file string) (all []exec.Resource, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if all, err = parseResources(string(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}

// parseResources reads the text of a resources file.
func parseResources(text string) (all []exec.Resource, err error) {
	var content struct {
		Workers []struct {
			Count int
			versions.Target
		}
	}
	if err := tomltext.Decode(text, &content); err != nil {
		return nil, err
	}
	if len(content.Workers) == 0 {
		return nil, &tomltext.Error{Reason: "declares no [[workers]]"}
	}
	for i, k := range content.Workers {
		if k.Count < 1 {
			return nil, &tomltext.Error{Reason: fmt.Sprintf("table %d of [[workers]]: count is %d, want at least 1", i+1, k.Count)}
		}
		all = append(all, exec.Resource{Workers: k.Count, Target: k.Target})
	}
	return all, nil
}
