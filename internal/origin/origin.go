package origin

import (
	"runtime/debug"
	"sync"

	"github.com/tessera-la/tessera/internal/topo"
)

// Origin is what every JSON document of labench carries.
type Origin struct {
	Machine string `json:"machine"`
	// Commit is the revision that the program was built from, with "+modified" if files were
	// changed; "unknown" if the build does not say, as that of go run.
	Commit string `json:"commit"`
}

// Here returns the origin of what this process measures.
func Here() Origin { return here() }

var here = sync.OnceValue(func() Origin {
	info, _ := debug.ReadBuildInfo()
	return Origin{Machine: topo.Detect().String(), Commit: commit(info)}
})

// commit returns the revision in some build information, which may be nil.
func commit(info *debug.BuildInfo) string {
	id, modified := "unknown", ""
	if info == nil {
		return id
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && s.Value != "":
			id = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+modified"
		}
	}
	return id + modified
}
