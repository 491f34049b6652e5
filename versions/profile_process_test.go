package versions

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/internal/filelock"
)

// saverEnv makes the test binary a process that saves to the named profile.
const (
	saverEnv      = "VERSIONS_TEST_SAVE_TO"
	saverTimesEnv = "VERSIONS_TEST_SAVE_TIMES"
)

func TestMain(m *testing.M) {
	path := os.Getenv(saverEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	times, _ := strconv.Atoi(os.Getenv(saverTimesEnv))
	p, w, err := Load(path)
	for i := 0; i < times && err == nil && w == nil; i++ {
		measured(p, "go", 1)
		w, err = p.Save(path)
	}
	if err != nil || w != nil {
		fmt.Fprintln(os.Stderr, w, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func saver(t *testing.T, path string, times int) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), saverEnv+"="+path, saverTimesEnv+"="+strconv.Itoa(times))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestProcessesSaveTogether checks that nothing of what several processes
// save at the same time is lost or counted twice.
func TestProcessesSaveTogether(t *testing.T) {
	if ok, err := locks(t); !ok {
		t.Skip("this system has no file locks: ", err)
	}
	path := filepath.Join(t.TempDir(), "profile.json")
	var cmds []*exec.Cmd
	for range 4 {
		cmds = append(cmds, saver(t, path, 10))
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got := counts(mustLoad(t, path)); got != "go 40/40" {
		t.Errorf("got %s", got)
	}
}

// locks reports whether a second lock of the same file is refused.
func locks(t *testing.T) (bool, error) {
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(name)
	if err != nil {
		return false, err
	}
	defer unlock()
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	got, err := filelock.Try(f)
	return !got, err
}

// TestKilledWhileSaving kills processes that do nothing but save: the file is
// always whole, and the lock is free.
func TestKilledWhileSaving(t *testing.T) {
	const entries = 300
	path := filepath.Join(t.TempDir(), "profile.json")
	base := new(Profile)
	for i := range entries { // large enough that writing takes a while
		measured(base, fmt.Sprintf("v%04d", i), 1)
	}
	mustSave(t, base, path)
	last := uint64(0)
	for i := range 8 {
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		cmd := saver(t, path, 1<<20)
		for range 1000 { // until it has saved once
			now, err := os.Stat(path)
			if err == nil && !os.SameFile(before, now) {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(time.Duration(3*i) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait() // its error is that it was killed

		p := mustLoad(t, path)
		ts := p.Timings()
		if len(ts) < entries {
			t.Fatalf("%d timings left", len(ts))
		}
		if ts[0].Version == "go" {
			if ts[0].Count < last {
				t.Errorf("%d runs left of %d", ts[0].Count, last)
			}
			last = ts[0].Count
		}
		measured(p, "v0000", 1)
		mustSave(t, p, path)
	}
	if last == 0 {
		t.Error("no process saved anything before it was killed")
	}
}

// TestSaveWhileRecording saves from two goroutines, to two files, while
// others record: both files end up with every run, once.
func TestSaveWhileRecording(t *testing.T) {
	const recorders, runs = 4, 500
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")}
	p := mustLoad(t, files[0])
	var recording, saving sync.WaitGroup
	done := make(chan struct{})
	for range recorders {
		recording.Go(func() {
			for range runs {
				measured(p, "go", 1)
			}
		})
	}
	for i := range 4 {
		saving.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if w, err := p.Save(files[i%2]); err != nil || w != nil {
					t.Error(w, err)
					return
				}
			}
		})
	}
	recording.Wait()
	close(done)
	saving.Wait()
	for _, file := range files {
		mustSave(t, p, file)
		want := fmt.Sprintf("go %d/%d", recorders*runs, recorders*runs)
		if got := counts(mustLoad(t, file)); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}
