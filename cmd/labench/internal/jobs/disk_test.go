package jobs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var errFull = errors.New("no space left on device")

// failing is a writer that fails after so many bytes.
type failing struct {
	w    io.Writer
	left int
}

func (f *failing) Write(b []byte) (int, error) {
	n, err := f.w.Write(b[:min(len(b), f.left)])
	if f.left -= n; err == nil && n < len(b) {
		err = errFull
	}
	return n, err
}

// runOne runs the jobs of a queue until one has ended, and returns that. The queue is closed then.
func runOne(t *testing.T, q *Queue, id int) Job {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		q.Run(ctx)
	}()
	var j Job
	for {
		var err error
		if j, err = q.Job(id); err != nil {
			t.Fatal(err)
		}
		if j.State.Over() {
			break
		}
		time.Sleep(time.Millisecond)
	}
	stop()
	<-ended
	j, err := q.Job(id) // as it stands at the end of all writes
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Close(); err != nil {
		t.Fatal(err)
	}
	return j
}

// files returns the names of the files of a job.
func files(t *testing.T, q *Queue, id int) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(q.spool.at(id, ""))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func open(t *testing.T, opt Options) *Queue {
	t.Helper()
	q, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func submitTo(t *testing.T, q *Queue, word string) Job {
	t.Helper()
	j, err := q.Submit(Spec{Args: []string{word}}, "", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestReportLost: a job whose report cannot be kept, of which a disk takes a part, or which is too long,
// has failed, and has no half of one. The next agent knows that, and does not begin it again.
func TestReportLost(t *testing.T) {
	for _, left := range []int{0, 5, 1 << 20} { // 16, of which the text has 10
		q := open(t, options(t.TempDir()))
		q.kept = func(w io.Writer) io.Writer { return &failing{w, left} }
		j := runOne(t, q, submitTo(t, q, "good").ID)
		lost := left < 1<<20
		if lost != (j.State == Failed && strings.Contains(j.Error, "its report cannot be kept: "+errFull.Error())) || lost == (j.State == Done) {
			t.Errorf("a disk that takes %d bytes: %+v", left, j)
		}
		want := []string{fileJob, FileLog}
		if !lost {
			want = []string{fileJob, FileLog, FileReport, FileText}
		}
		if got := files(t, q, 1); !slices.Equal(got, want) {
			t.Errorf("a disk that takes %d bytes: %v, want %v", left, got, want)
		}
		q = open(t, options(q.opt.Dir))
		if again := runOne(t, q, 1); again.State != j.State || again.Begun != 1 || again.Error != j.Error {
			t.Errorf("another agent: %+v, want %+v", again, j)
		}
	}
	r := &reports{into: []io.Writer{io.Discard, io.Discard}}
	line := strings.Repeat("x", logMost/2) + "\n"
	r.add(line)
	r.add(line)
	if err := r.commit(); !isReport(err) || !strings.Contains(err.Error(), "more than") {
		t.Errorf("a report of %d bytes: %v", 2*len(line), err)
	}
}

// TestEndLost: a job that has ended, which cannot be written, has failed for those who ask now and for
// the next agent, whether what it leaves makes room or not. One that cannot be begun has failed, too.
func TestEndLost(t *testing.T) {
	for _, test := range []struct {
		name   string
		fails  func(j *Job, over int) bool
		begun  int
		after  string // what the next agent says
		states []string
	}{
		{"its files make room", func(j *Job, over int) bool { return j.State.Over() && over == 1 }, 1, errFull.Error(), []string{fileJob}},
		{"there is no room", func(j *Job, _ int) bool { return j.State.Over() }, 1, lostEnd, []string{fileEnded}},
		{"not begun", func(j *Job, _ int) bool { return j.State == Running }, 1, "it was not begun", []string{fileJob}},
		{"not begun, and there is no room", func(j *Job, _ int) bool { return j.State != Queued && j.State != Coming }, 0, lostEnd, []string{fileEnded}},
	} {
		q := open(t, options(t.TempDir()))
		over := 0
		q.write = func(j *Job) error {
			if j.State.Over() {
				over++
			}
			if test.fails(j, over) {
				return errFull
			}
			return q.spool.write(j)
		}
		j := runOne(t, q, submitTo(t, q, "good").ID)
		if j.State != Failed || !strings.Contains(j.Error, errFull.Error()) {
			t.Errorf("%s: %+v", test.name, j)
		}
		if got := files(t, q, 1); !slices.Contains(got, test.states[0]) {
			t.Errorf("%s: %v, want %v", test.name, got, test.states)
		}
		q = open(t, options(q.opt.Dir))
		if j := runOne(t, q, 1); j.State != Failed || !strings.Contains(j.Error, test.after) || j.Begun != test.begun {
			t.Errorf("%s, another agent: %+v", test.name, j)
		}
		// It goes like any other one.
		q = open(t, options(q.opt.Dir))
		if _, err := q.Remove(1); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		q = open(t, options(q.opt.Dir))
		if all := q.Jobs(); len(all) > 0 {
			t.Errorf("%s, removed: %+v", test.name, all)
		}
		_ = q.Close()
	}
}

// TestLargestNumber: what stands in a spool leads to no number that no job can have.
func TestLargestNumber(t *testing.T) {
	dir := t.TempDir()
	job := `{"Args": ["good"], "State": "done"}`
	write := func(number string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, number), 0o700), os.WriteFile(filepath.Join(dir, number, fileJob), []byte(job), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, number := range []string{"9223372036854775807", "2147483648", "-1", "0"} {
		write(number)
	}
	q := open(t, options(dir))
	if j := submitTo(t, q, "good"); j.ID != 1 || len(q.Jobs()) != 1 {
		t.Errorf("%+v of %+v", j, q.Jobs())
	}
	_ = q.Close()
	write(strconv.Itoa(idMost))
	q = open(t, options(dir))
	defer q.Close()
	if j, err := q.Submit(Spec{Args: []string{"good"}}, "", nil, 0); !is(err, Full) {
		t.Errorf("%+v, %v", j, err)
	}
}
