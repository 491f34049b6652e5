package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// readResources reads a file that declares workers of several kinds, a list of
//
//	{"workers": 2, "processor": "KNL", "arch": "amd64", "features": ["avx512f"], "units": 1, "memory": 1000000000}
//
// in which all but workers may be left out.
func readResources(file string) (all []exec.Resource, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var kinds []struct {
		Workers int
		versions.Target
	}
	d := json.NewDecoder(f)
	d.DisallowUnknownFields()
	if err := d.Decode(&kinds); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(kinds) == 0 {
		return nil, fmt.Errorf("%s: declares no workers", file)
	}
	for _, k := range kinds {
		all = append(all, exec.Resource{Workers: k.Workers, Target: k.Target})
	}
	return all, nil
}
