package origin

import (
	"runtime/debug"
	"testing"
)

func TestCommit(t *testing.T) {
	of := func(pairs ...string) *debug.BuildInfo {
		info := &debug.BuildInfo{}
		for i := 0; i < len(pairs); i += 2 {
			info.Settings = append(info.Settings, debug.BuildSetting{Key: pairs[i], Value: pairs[i+1]})
		}
		return info
	}
	for _, test := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "unknown"}, {of("-tags", "x"), "unknown"}, {of("vcs.revision", "abc", "vcs.modified", "false"), "abc"},
		{of("vcs.revision", "abc", "vcs.modified", "true"), "abc+modified"},
	} {
		if got := commit(test.info); got != test.want {
			t.Errorf("%v: %q, want %q", test.info, got, test.want)
		}
	}
	if x := Here(); x.Machine == "" || x.Commit == "" {
		t.Errorf("%+v", x)
	}
}
