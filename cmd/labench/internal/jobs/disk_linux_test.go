package jobs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// small mounts a file system of so many bytes, in memory.
func small(t *testing.T, bytes string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tessera", dir, "tmpfs", 0, "size="+bytes); err != nil {
		t.Skipf("LEFT OUT a disk that is full: it takes root to mount one: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk: jobs on a disk that is full by their reports, by files of theirs, or by those of others.
func TestFullDisk(t *testing.T) {
	for _, test := range []struct {
		word, filler string
		is           State
		want, after  string // what is said by this agent, and by the next one
	}{
		{"large", "", Failed, "its report cannot be kept", "its report cannot be kept"},
		{"fill", "1/junk", Failed, "no space left", "no space left"},
		{"fill", "junk", Failed, "no space left", lostEnd},
	} {
		dir := small(t, "96k")
		opt := options(dir)
		command := opt.Command
		opt.Command = func(j *Job, at string) *exec.Cmd {
			c := command(j, at)
			c.Env = append(c.Env, "TEST_FILLER="+filepath.Join(dir, test.filler))
			return c
		}
		q := open(t, opt)
		j := runOne(t, q, submitTo(t, q, test.word).ID)
		if j.State != test.is || !strings.Contains(j.Error, test.want) {
			t.Errorf("%s %s: %+v, want %q", test.word, test.filler, j, test.want)
		}
		if all := files(t, q, 1); strings.Contains(strings.Join(all, " "), "report") || strings.Contains(strings.Join(all, " "), ".tmp") {
			t.Errorf("%s %s: it leaves %v", test.word, test.filler, all)
		}
		q = open(t, opt)
		if j := runOne(t, q, 1); j.State != Failed || j.Begun != 1 || !strings.Contains(j.Error, test.after) {
			t.Errorf("%s %s, another agent: %+v, want %q", test.word, test.filler, j, test.after)
		}
		// A job for which there is no room is refused, and leaves nothing.
		if test.filler == "junk" {
			q = open(t, opt)
			j, err := q.Submit(Spec{Args: []string{"good"}}, "", nil, 0)
			if err == nil {
				t.Errorf("with a full disk: %+v", j)
			}
			if _, err := os.Stat(filepath.Join(dir, "2")); err == nil {
				t.Error("a job that was refused is there")
			}
			_ = q.Close()
		}
	}
}
