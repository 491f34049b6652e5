package jobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain makes this process a job if it is to be one: "good", "bad", or "long", which ends with
// its standard input only.
func TestMain(m *testing.M) {
	switch os.Getenv("TEST_JOB") {
	case "":
		os.Exit(m.Run())
	case "good":
		fmt.Println("progress 1 4")
		fmt.Println(`{"Passed": true}`)
		fmt.Println(TextPrefix + "it passed")
		if dir := os.Getenv("TEST_DIR"); os.Getenv("TEST_KEEP") != "" {
			b, err := os.ReadFile(filepath.Join(dir, "input.npy"))
			if err = errors.Join(err, os.WriteFile(filepath.Join(dir, FileMatrix), b, 0o600)); err != nil {
				os.Exit(1)
			}
		}
	case "large": // a report
		for range 4 << 10 {
			fmt.Println(strings.Repeat("x", 63))
		}
	case "fill": // the disk, with files that go with the job, or stay
		f, err := os.Create(os.Getenv("TEST_FILLER"))
		for err == nil {
			_, err = f.Write(make([]byte, 1024))
		}
		fmt.Fprintln(os.Stderr, "labench: it fails by itself")
		fmt.Println(`{"Passed": true}`)
	case "bad":
		_ = os.Mkdir(filepath.Join(os.Getenv("TEST_DIR"), "half"), 0o700)
		fmt.Fprintln(os.Stderr, "something before\nlabench: it is not positive\nMend it.")
		os.Exit(1)
	case "long":
		fmt.Println("progress 1 2")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(130)
	}
}

// served is a queue that is served, and a client.
type served struct {
	*Client
	queue   *Queue
	address string
	end     func() // as when the agent ends
}

// options returns those of a queue in a directory, whose jobs are this program.
func options(dir string) Options {
	return Options{Dir: dir, Most: 1 << 20, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Check: func(s *Spec) error {
			if s.Args[0] == "evil" {
				return errors.New("there is no evil")
			}
			return nil
		},
		Command: func(j *Job, dir string) *exec.Cmd {
			c := exec.Command(os.Args[0])
			c.Env = append(os.Environ(), "TEST_JOB="+j.Args[0], "TEST_DIR="+dir, "TEST_KEEP="+map[bool]string{true: "1"}[j.Keep])
			return c
		}}
}

// serve serves the queue of a directory.
func serve(t *testing.T, dir string) *served {
	t.Helper()
	q, err := Open(t.Context(), options(dir))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := NewServer(q, nil, slog.New(slog.DiscardHandler))
	var running sync.WaitGroup
	running.Go(func() { q.Run(ctx) })
	running.Go(func() { _ = s.Serve(l) })
	x := &served{NewClient(l.Addr().String(), nil), q, l.Addr().String(), nil}
	x.Client.silence = 5 * time.Minute
	x.end = sync.OnceFunc(func() {
		stop()
		x.Close()
		_ = s.Close()
		_ = l.Close()
		running.Wait()
		_ = q.Close()
	})
	t.Cleanup(x.end)
	return x
}

// await waits until a job is in a state.
func (x *served) await(t *testing.T, id int, s State) Job {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		j, err := x.Job(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if j.State == s {
			return j
		}
		if j.State.Over() || time.Now().After(end) {
			t.Fatalf("job %d is %s: %s; want %s", id, j.State, j.Error, s)
		}
	}
}

// submit submits a job without input.
func (x *served) submit(t *testing.T, word string) Job {
	t.Helper()
	j, err := x.Submit(t.Context(), Spec{Args: []string{word}}, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// is reports whether an error is of a kind.
func is(err error, k Kind) bool {
	e := (*Error)(nil)
	return errors.As(err, &e) && e.Kind == k
}

// TestJobs: jobs that end well, fail, and are cancelled, one after the other; what they leave.
func TestJobs(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, before) })
	dir := t.TempDir()
	x := serve(t, dir)
	matrix := bytes.Repeat([]byte("0123456789"), 20_000)
	j, err := x.Submit(t.Context(), Spec{Args: []string{"good", "-n", "3"}, Input: ".npy", Keep: true}, bytes.NewReader(matrix), int64(len(matrix)))
	if err != nil || j.ID != 1 || j.State != Queued && j.State != Running {
		t.Fatalf("%+v, %v", j, err)
	}
	if j = x.await(t, 1, Done); j.Part != 1 || j.Begun != 1 || j.Ended.IsZero() {
		t.Errorf("%+v", j)
	}
	var report, got bytes.Buffer
	if err := errors.Join(x.Fetch(t.Context(), 1, "report", &report), x.Fetch(t.Context(), 1, "matrix", &got)); err != nil || report.String() != "{\"Passed\": true}\n" || !bytes.Equal(got.Bytes(), matrix) {
		t.Errorf("report %q, %d bytes of a matrix, %v", &report, got.Len(), err)
	}
	x.submit(t, "bad")
	if j = x.await(t, 2, Failed); j.Error != "it is not positive\nMend it." {
		t.Errorf("it failed because of %q", j.Error)
	}
	if err := x.Fetch(t.Context(), 2, "report", io.Discard); !is(err, NotFound) || !strings.Contains(err.Error(), "failed") || !strings.Contains(err.Error(), "not positive") {
		t.Errorf("the report of a job that has failed: %v", err)
	}
	x.submit(t, "long") // which waits for the queue to have done with job 2
	if _, err := os.Stat(filepath.Join(dir, "2", "half")); err == nil {
		t.Error("what a job was about to write stays")
	}
	x.submit(t, "good")
	x.submit(t, "good")
	for j.ID != 3 || j.Part != 0.5 {
		j = x.await(t, 3, Running)
	}
	if j.Left <= 0 {
		t.Errorf("%+v", j)
	}
	if err := x.Fetch(t.Context(), 3, "report", io.Discard); !is(err, NotYet) {
		t.Errorf("the report of a job that runs: %v", err)
	}
	if err := x.Fetch(t.Context(), 3, "log", io.Discard); err != nil {
		t.Error(err)
	}
	if j, err = x.Cancel(t.Context(), 4); err != nil || j.State != Cancelled {
		t.Errorf("%+v, %v", j, err)
	}
	if _, err = x.Cancel(t.Context(), 3); err != nil {
		t.Error(err)
	}
	x.await(t, 3, Cancelled)
	x.await(t, 5, Done)
	if err := x.Fetch(t.Context(), 4, "report", io.Discard); !is(err, NotFound) {
		t.Errorf("the report of a job that never ran: %v", err)
	}
	all, err := x.Jobs(t.Context())
	states := ""
	for _, j := range all {
		states += string(j.State) + " "
	}
	if err != nil || states != "done failed cancelled cancelled done " {
		t.Errorf("%s, %v", states, err)
	}
	if j, err := x.Cancel(t.Context(), 5); err != nil || j.State != Done {
		t.Errorf("a job that has ended is cancelled: %+v, %v", j, err)
	}
	if err := x.Fetch(t.Context(), 5, "report", io.Discard); err != nil {
		t.Errorf("its report, after that: %v", err)
	}
	x.submit(t, "long")
	if _, err := x.Remove(t.Context(), 6); !is(err, NotYet) || !strings.Contains(err.Error(), "cancel it first") {
		t.Errorf("a job that has not ended is removed: %v", err)
	}
	if j, err := x.Remove(t.Context(), 5); err != nil || j.State != Removed {
		t.Errorf("a job that has ended is removed: %+v, %v", j, err)
	}
	if _, err := x.Remove(t.Context(), 5); !is(err, NotFound) {
		t.Errorf("a job is removed twice: %v", err)
	}
	if _, err := x.Job(t.Context(), 5); !is(err, NotFound) {
		t.Errorf("a job that was removed: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "5")); err == nil {
		t.Error("files of a job that was removed stay")
	}
	if err := os.RemoveAll(filepath.Join(dir, "1")); err != nil {
		t.Fatal(err)
	}
	if j, err := x.Remove(t.Context(), 1); err != nil || j.State != Removed {
		t.Errorf("a job whose directory a person has removed: %+v, %v", j, err)
	}
}

// TestSlowDisk: an agent may take its time to answer when it has a job's input. Without one it may
// not.
func TestSlowDisk(t *testing.T) {
	const silence = 20 * time.Millisecond
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		if n == 0 {
			<-r.Context().Done()
			return
		}
		time.Sleep(5 * silence)
		_, _ = io.WriteString(w, `{"ID": 7}`)
	}))
	defer s.Close()
	c := NewClient(s.Listener.Addr().String(), nil)
	defer c.Close()
	c.silence = silence
	if j, err := c.Submit(t.Context(), Spec{Args: []string{"good"}, Input: ".npy"}, strings.NewReader("abc"), 3); err != nil || j.ID != 7 {
		t.Errorf("%+v, %v", j, err)
	}
	if _, err := c.Jobs(t.Context()); !is(err, Broken) || !strings.Contains(err.Error(), "does not answer: context deadline exceeded") {
		t.Errorf("an agent that does not answer: %v", err)
	}
}

// TestRestart: what becomes of jobs when the agent ends and is started again. What waits goes on
// waiting, what ran is begun again, what has ended stays, and so does what is somebody else's. A job
// with which the agent dies twice has failed, and one that was cancelled is not begun again.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	x := serve(t, dir)
	x.submit(t, "good")
	x.await(t, 1, Done)
	x.submit(t, "long")
	x.submit(t, "good")
	x.await(t, 2, Running)
	write := func(job, file, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, job), 0o700), os.WriteFile(filepath.Join(dir, job, file), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for begun := 2; begun < 5; begun++ { // in good order as often as you like
		x.end()
		write("9", fileJob, `{"Args": ["good"], "Input": ".npy", "State": "coming"}`)
		write("4", "x.npy", "somebody else's")
		x = serve(t, dir)
		if j := x.await(t, 2, Running); j.Begun != begun || j.Lost != 0 {
			t.Errorf("%+v", j)
		}
	}
	if j, err := x.Job(t.Context(), 1); err != nil || j.State != Done {
		t.Errorf("%+v, %v", j, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "9")); err == nil {
		t.Error("what was never submitted is there")
	}
	x.end()
	write("2", fileJob, `{"Args": ["long"], "State": "running", "Begun": 4}`) // as if it had died
	y := serve(t, dir)
	if j := y.await(t, 2, Running); j.Begun != 5 || j.Lost != 1 {
		t.Errorf("%+v", j)
	}
	y.end()
	write("2", fileJob, `{"Args": ["long"], "State": "running", "Begun": 5, "Lost": 1}`)
	write("5", fileJob, `{"Args": ["long"], "State": "running", "Ending": true}`)
	z := serve(t, dir)
	if j, err := z.Job(t.Context(), 2); err != nil || j.State != Failed || !strings.Contains(j.Error, "2 times") {
		t.Errorf("%+v, %v", j, err)
	}
	if j, err := z.Job(t.Context(), 5); err != nil || j.State != Cancelled {
		t.Errorf("%+v, %v", j, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "6"), 0o700); err != nil { // whose number is the next one
		t.Fatal(err)
	}
	z.await(t, 3, Done)
	if j := z.submit(t, "good"); j.ID != 7 {
		t.Errorf("job %d, want 7", j.ID)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "4", "x.npy")); err != nil || string(b) != "somebody else's" {
		t.Errorf("somebody else's file: %q, %v", b, err)
	}
	z.end()
	write("7", fileJob, "{")
	if _, err := Open(t.Context(), options(dir)); !is(err, Broken) {
		t.Errorf("a job that cannot be read: %v", err)
	}
}

// zeros is a file without an end.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// TestHostile: what makes no sense is refused, and leaves nothing.
func TestHostile(t *testing.T) {
	x := serve(t, t.TempDir())
	long := strings.Repeat("x", 300)
	for _, s := range []Spec{{}, {Args: []string{"evil"}}, {Args: []string{long}}, {Args: make([]string, 100)}, {Args: []string{"good"}, Input: "/../../x.npy"}} {
		if _, err := x.Submit(t.Context(), s, nil, 0); !is(err, BadSpec) {
			t.Errorf("%.100v: %v", s, err)
		}
	}
	const big = 64 << 20 // more than lies between a client and a server that does not read
	if _, err := x.Submit(t.Context(), Spec{Args: []string{"good"}, Input: ".npy"}, zeros{}, big); !is(err, TooLarge) {
		t.Errorf("more than there is room for: %v", err)
	}
	raw := func(request string) string {
		t.Helper()
		c, err := net.Dial("tcp", x.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
		_, _ = io.WriteString(c, strings.ReplaceAll(request, "\n", "\r\n"))
		answer, _ := io.ReadAll(c)
		return string(answer)
	}
	const end = "Connection: close\n\n"
	const host = " HTTP/1.1\nHost: 127.0.0.1:1\n"
	for request, want := range map[string]string{
		"GET /v1/jobs HTTP/1.1\nHost: evil.example.org\n" + end:                                         "no loopback address",
		"GET /v1/jobs/../../etc/passwd" + host + end:                                                    "no number",
		"GET /v1/jobs/%2e%2e/job.json" + host + end:                                                     "no number",
		"GET http://evil.example.org/v1/jobs" + host + end:                                              "no loopback address",
		"GET /v1/jobs/01" + host + end:                                                                  "no number",
		"GET /v1/jobs/99999999999999999999" + host + end:                                                "no number",
		"GET /v1/jobs/7" + host + end:                                                                   "there is no job 7",
		"GET /v1/jobs/7/job.json" + host + end:                                                          "is not served",
		"DELETE /v1/jobs/7" + host + end:                                                                "is not served",
		"OPTIONS /v1/jobs" + host + end:                                                                 "want GET",
		"POST /v1/jobs" + host + "Content-Length: 0\n" + end:                                            "with X-Tessera-Job",
		"POST /v1/jobs/1/cancel" + host + "Content-Length: 0\n" + end:                                   "is not served",
		"POST /v1/jobs" + host + "X-Tessera-Job: {\"Argz\":[]}\nContent-Length: 0\n" + end:              "unknown field",
		"POST /v1/jobs" + host + "X-Tessera-Job: {\"Args\":[\"good\"]} more\nContent-Length: 0\n" + end: "text behind it",
		"POST /v1/jobs" + host + "X-Tessera-Job: {\"Args\":[\"good\"]}{}\nContent-Length: 0\n" + end:    "text behind it",
		"POST /v1/jobs" + host + "X-Tessera-Job: {\"Args\":[\"good\"]}\nX-Tessera-Job: {\"Args\":[\"evil\"]}\nContent-Length: 0\n" + end:       "2 times X-Tessera-Job",
		"POST /v1/jobs" + host + "X-Tessera-Job: {\"Args\":[\"good\\u001b[2J\"]}\nContent-Length: 0\n" + end:                                   "no word of a command line",
		"POST /v1/jobs" + host + "X-Tessera-Job: [[[[\nContent-Length: 0\n" + end:                                                              "X-Tessera-Job",
		"POST /v1/jobs" + host + "X-Tessera-Job: {\"Args\":[\"good\"]}\nContent-Length: 1\n" + end + "x":                                       "no Input",
		"POST /v1/jobs" + host + "X-Tessera-Job: {\"Args\":[\"good\"],\"Input\":\".npy\"}\nTransfer-Encoding: chunked\n" + end + "1\nx\n0\n\n": "no body of a Content-Length",
		"GET /v1/jobs" + host + "X: " + strings.Repeat("y", 64<<10) + "\n" + end:                                                               "HTTP/1.1 4",
		"nonsense\n\n": "HTTP/1.1 4",
	} {
		if answer := raw(request); !strings.Contains(answer, want) {
			t.Errorf("%.100q: %.300q, want %q", request, answer, want)
		}
	}
	// A client that goes while it sends its input.
	c, err := net.Dial("tcp", x.address)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(c, "POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Tessera-Job: {\"Args\":[\"good\"],\"Input\":\".npy\"}\r\nContent-Length: 100000\r\n\r\nabc")
	c.Close()
	x.submit(t, "long")
	for i := 0; ; i++ {
		if _, err := x.Submit(t.Context(), Spec{Args: []string{"good"}}, nil, 0); is(err, Full) && i >= queueMost-2 {
			break
		} else if err != nil || i > queueMost {
			t.Fatalf("after %d jobs: %v", i, err)
		}
	}
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		all, err := x.Jobs(t.Context())
		entries, _ := os.ReadDir(x.queue.opt.Dir)
		if err == nil && len(all)+1 == len(entries) { // and the lock
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d jobs, and %d entries: %v", len(all), len(entries), err)
		}
	}
}

// TestLocked: a spool is one agent's at a time, and the job's that it has left behind.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	x := serve(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	stop() // at once: one try
	if _, err := Open(ctx, options(dir)); !is(err, Locked) {
		t.Errorf("a second agent: %v", err)
	}
	x.end()
	q, err := Open(ctx, options(dir))
	if err != nil {
		t.Fatalf("after the first agent has ended: %v", err)
	}
	if runtime.GOOS == "windows" {
		q.Close()
		return
	}
	// A job whose agent was killed: nothing but its process has the lock.
	c := exec.Command(os.Args[0])
	c.Env, c.ExtraFiles = append(os.Environ(), "TEST_JOB=long"), []*os.File{q.lock}
	in, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err = errors.Join(err, q.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, options(dir)); !is(err, Locked) {
		t.Errorf("while a job runs: %v", err)
	}
	in.Close()
	_ = c.Wait()
	if q, err = Open(ctx, options(dir)); err != nil {
		t.Fatalf("after it has ended: %v", err)
	}
	q.Close()
}

// TestRoom: inputs on their way count, so that many at once do not fill more than there is room
// for; and who sends slowly does not hold up the agent's end.
func TestRoom(t *testing.T) {
	x := serve(t, t.TempDir())
	c, err := net.Dial("tcp", x.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "POST /v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Tessera-Job: {\"Args\":[\"good\"],\"Input\":\".npy\"}\r\nContent-Length: 700000\r\n\r\nabc")
	matrix := make([]byte, 500_000)
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		_, err := x.Submit(t.Context(), Spec{Args: []string{"good"}, Input: ".npy"}, bytes.NewReader(matrix), int64(len(matrix)))
		if is(err, TooLarge) {
			break
		}
		if err != nil || time.Now().After(end) {
			t.Fatalf("with 700000 bytes on their way there is room for 500000 in 1 MiB: %v", err)
		}
	}
	x.end()
	if all, err := os.ReadDir(x.queue.opt.Dir); err != nil || slices.ContainsFunc(all, func(e os.DirEntry) bool {
		_, err := os.Stat(filepath.Join(x.queue.opt.Dir, e.Name(), fileJob))
		return e.IsDir() && err != nil
	}) {
		t.Errorf("what was on its way is there: %v, %v", all, err)
	}
}

// TestWritten: jobs that somebody has written into the spool are checked as those that are
// submitted.
func TestWritten(t *testing.T) {
	dir := t.TempDir()
	write := func(job string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "1"), 0o700), os.WriteFile(filepath.Join(dir, "1", fileJob), []byte(job), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"Args": ["good"], "Input": "/../../x.npy", "State": "queued"}`)
	if _, err := Open(t.Context(), options(dir)); !is(err, Broken) {
		t.Errorf("a path as an input: %v", err)
	}
	for job, want := range map[string]string{
		`{"Args": ["good"], "State": "paused"}`:                          "the state is \"paused\"",
		`{"Args": ["good"], "State": "removed"}`:                         "the state is",
		`{"Args": ["good"]}`:                                             "the state is",
		`{"Args": ["good"], "State": "queued", "Lost": -9}`:              "lost -9 times",
		`{"Args": ["good"], "State": "queued", "Begun": -1}`:             "begun -1 times",
		`{"Args": ["good"], "State": "queued", "Part": 2}`:               "2 of it is done",
		`{"Args": ["good\n"], "State": "queued"}`:                        "no word of a command line",
		`{"Args": ["good"], "State": "queued"} {"Args": ["good"]}`:       "after top-level value",
		`{"Args": ["good"], "State": "queued", "Submitted": "tomorrow"}`: "parsing time",
	} {
		write(job)
		if _, err := Open(t.Context(), options(dir)); !is(err, Broken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", job, err, want)
		}
	}
	write(`{"Args": ["evil"], "State": "queued"}`)
	q, err := Open(t.Context(), options(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	if j, err := q.Job(1); err != nil || j.State != Failed || j.Error != "there is no evil" {
		t.Errorf("%+v, %v", j, err)
	}
}
