package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
)

// versionLine says what this program was built from, as far as the build
// knows: go run, for one, does not ask the repository.
func versionLine(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "labench of an unknown version: it was built without modules"
	}
	version := cmp.Or(strings.Trim(info.Main.Version, "()"), "devel") // "(devel)"
	commit := "commit unknown"
	if id := buildSetting(info, "vcs.revision"); id != "" {
		commit = "commit " + id[:min(len(id), 12)]
		if day, _, ok := strings.Cut(buildSetting(info, "vcs.time"), "T"); ok {
			commit += " of " + day
		}
		if buildSetting(info, "vcs.modified") == "true" {
			commit += ", modified"
		}
	}
	return fmt.Sprintf("labench %s (%s), %s", version, commit, info.GoVersion)
}

// buildSetting returns what the build says of key, or nothing.
func buildSetting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
