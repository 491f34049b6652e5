package cli

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
)

// VersionLine says what this program was built from, as far as the build records it. With go run it does not.
func VersionLine(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "labench of an unknown version: it was built without modules"
	}
	version := cmp.Or(strings.Trim(info.Main.Version, "()"), "devel") // "(devel)"
	commit := "commit unknown"
	if id := BuildSetting(info, "vcs.revision"); id != "" {
		commit = "commit " + id[:min(len(id), 12)]
		if day, _, ok := strings.Cut(BuildSetting(info, "vcs.time"), "T"); ok {
			commit += " of " + day
		}
		if BuildSetting(info, "vcs.modified") == "true" {
			commit += ", modified"
		}
	}
	return fmt.Sprintf("labench %s (%s), %s", version, commit, info.GoVersion)
}

// BuildSetting returns the build setting key, or "".
func BuildSetting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
