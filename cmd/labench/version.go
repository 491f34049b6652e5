package main

import (
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
	setting := func(key string) string {
		for _, s := range info.Settings {
			if s.Key == key {
				return s.Value
			}
		}
		return ""
	}
	version := strings.Trim(info.Main.Version, "()") // "(devel)"
	if version == "" {
		version = "devel"
	}
	commit := "commit unknown"
	if id := setting("vcs.revision"); id != "" {
		commit = "commit " + id[:min(len(id), 12)]
		if day, _, ok := strings.Cut(setting("vcs.time"), "T"); ok {
			commit += " of " + day
		}
		if setting("vcs.modified") == "true" {
			commit += ", modified"
		}
	}
	return fmt.Sprintf("labench %s (%s), %s", version, commit, info.GoVersion)
}
