package main

import (
	"fmt"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/tessera-la/tessera/exec"
	"github.com/tessera-la/tessera/versions"
)

// readResources reads a resources file: workers of several kinds, each a table
//
//	[[workers]]
//	count = 2
//	processor = "KNL"
//	arch = "amd64"
//	features = ["avx512f"]
//	units = 1
//	memory = 1_000_000_000 # bytes
//
// in which all but count may be left out, and then says what this machine says.
func readResources(file string) (all []exec.Resource, err error) {
	var content struct {
		Workers []struct {
			Count int
			versions.Target
		}
	}
	meta, err := toml.DecodeFile(file, &content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("%s: unknown key %s; known are count, kind, arch, processor, features, units and memory", file, strings.Trim(fmt.Sprint(unknown), "[]"))
	}
	if len(content.Workers) == 0 {
		return nil, fmt.Errorf("%s: declares no [[workers]]", file)
	}
	for _, k := range content.Workers {
		all = append(all, exec.Resource{Workers: k.Count, Target: k.Target})
	}
	return all, nil
}
