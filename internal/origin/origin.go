package origin

import (
	"runtime/debug"
	"sync"

	"github.com/tessera-la/tessera/internal/topo"
)

// Origin is the machine that measured and the commit that it ran. JSON documents embed it.
type Origin struct {
	Machine string `json:"machine"`
	// Commit is the revision that the program was built from, with "+modified" if the working tree was changed.
	// It is "unknown" if the binary has no version stamp, as with go run.
	Commit string `json:"commit"`
}

// Here returns the origin of measurements of this process.
func Here() Origin { return here() }

var here = sync.OnceValue(func() Origin {
	info, _ := debug.ReadBuildInfo()
	return Origin{Machine: topo.Detect().String(), Commit: commit(info)}
})

// commit returns the revision that info records. info may be nil.
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
