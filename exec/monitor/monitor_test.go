package monitor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tessera-la/tessera/exec/monitor"
	"github.com/tessera-la/tessera/exec/trace"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder returns a recorder with some history: worker 0 has ended three tasks
// of two ops, one of them badly, and worker 1 is at one.
func recorder() *trace.Recorder {
	r := &trace.Recorder{Limit: 100}
	sink, begin := r.Sink(0), r.Starter(1)
	r.CountSubmitted(10)
	r.CountReady(6)
	now := r.Now()
	for i, op := range []string{"gemm/f64", "gemm/f64", "potrf/f64"} {
		start := now + time.Duration(i)*time.Millisecond
		r.Starter(0)(trace.Running{Op: op, Version: "avx2", Start: start}, true)
		sink(trace.Event{Job: 1, Task: uint64(i + 1), Op: op, Version: "avx2", Start: start, End: start + time.Millisecond, Failed: i == 2})
		r.Tally(0).Ended(true)
	}
	begin(trace.Running{Job: 1, Task: 4, Op: "trsm/f64", Version: "go", Start: r.Now()}, true)
	return r
}

func listen(t *testing.T, r *trace.Recorder) *monitor.Server {
	t.Helper()
	m, err := monitor.Listen("127.0.0.1:0", r, monitor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func get(t *testing.T, url string) (status int, header http.Header, body []byte) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, body
}

func TestState(t *testing.T) {
	r := recorder()
	m := listen(t, r)
	status, header, body := get(t, m.URL()+"state")
	var s monitor.State
	if err := json.Unmarshal(body, &s); err != nil || status != 200 || header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d, %v\n%s", status, err, body)
	}
	if s.Counts != (trace.Counts{Submitted: 10, Waiting: 4, Ready: 2, Running: 1, Ended: 3, Attempts: 3}) {
		t.Errorf("counts %+v", s.Counts)
	}
	if len(s.Workers) != 2 || s.Workers[0].Busy || s.Workers[1].Op != "trsm/f64" {
		t.Errorf("workers %+v", s.Workers)
	}
	if len(s.Slices) != 3 || !s.Slices[2].Failed || s.Slices[0].End-s.Slices[0].Start != 1000 {
		t.Errorf("slices %+v", s.Slices)
	}
	if len(s.Versions) != 2 || s.Versions[0].Calls != 2 || s.Versions[1].Failed != 1 || s.Memory.Heap == 0 || s.Memory.Total < s.Memory.Heap {
		t.Errorf("versions %+v, memory %+v", s.Versions, s.Memory)
	}
	// Only what is new.
	after := int64(s.Slices[1].End)
	_, _, body = get(t, fmt.Sprintf("%sstate?after=%d", m.URL(), after+1))
	s = monitor.State{}
	if err := json.Unmarshal(body, &s); err != nil || len(s.Slices) != 1 || s.Slices[0].Op != "potrf/f64" {
		t.Errorf("after %d µs: %v\n%s", after, err, body)
	}
	for _, bad := range []string{"state?after=x", "state?after=-1", "state?after=99999999999999999999"} {
		if status, _, _ := get(t, m.URL()+bad); status != http.StatusBadRequest {
			t.Errorf("%s: status %d", bad, status)
		}
	}
	if status, _, _ := get(t, m.URL()+"else"); status != http.StatusNotFound {
		t.Errorf("status %d for no page", status)
	}
}

// TestActivity: what a program says of itself, and what is said without it.
func TestActivity(t *testing.T) {
	r := recorder()
	m := listen(t, r)
	state := func() (s monitor.State) {
		t.Helper()
		_, _, body := get(t, m.URL()+"state")
		if err := json.Unmarshal(body, &s); err != nil {
			t.Fatalf("%v\n%s", err, body)
		}
		return s
	}
	s := state()
	for end := time.Now().Add(5 * time.Minute); len(s.Samples) == 0 && time.Now().Before(end); s = state() {
	}
	if s.Activity != (monitor.Progress{Done: 3, Total: 10}) || len(s.Past) != 0 || len(s.Samples) == 0 {
		t.Errorf("nothing was said: %+v", s)
	}
	a := monitor.Activity{Title: "cholesky", Phase: "timed", Run: 1, Runs: 2, Flops: 1e9}
	m.Describe(a)
	r.CountSubmitted(2)
	first := state().Activity
	if first.Activity != a || first.Known || first.Done != 0 || first.Total != 2 || first.Since <= 0 {
		t.Errorf("begun: %+v", first)
	}
	m.Progress(3, 8)
	if now := state().Activity; !now.Known || now.Done != 3 || now.Total != 8 || now.Since != first.Since {
		t.Errorf("on the way: %+v", now)
	}
	m.Describe(monitor.Activity{Title: "between"})
	m.Describe(a)
	if past := state().Past; len(past) != 1 || past[0].Activity != a || past[0].Since != first.Since || past[0].Took <= 0 {
		t.Errorf("past: %+v", past)
	}
	for i := range 100 {
		m.Describe(monitor.Activity{Run: i + 1})
	}
	if past := state().Past; len(past) != 20 || past[19].Run != 99 || past[0].Run != 80 {
		t.Errorf("past: %+v", past)
	}
}

func TestForeignNameIsRefused(t *testing.T) {
	m := listen(t, recorder())
	req, err := http.NewRequest("GET", m.URL()+"state", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "example.org"
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("status %d", answer.StatusCode)
	}
}

func TestListenRefuses(t *testing.T) {
	for _, addr := range []string{"", "127.0.0.1", "0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.org:0", "127.0.0.1:x", "127.0.0.1:99999"} {
		m, err := monitor.Listen(addr, &trace.Recorder{}, monitor.Options{})
		var bad *monitor.AddressError
		if !errors.As(err, &bad) {
			t.Errorf("%q: %v", addr, err)
		}
		if m != nil {
			m.Close()
		}
	}
	first := listen(t, &trace.Recorder{})
	if _, err := monitor.Listen(strings.Trim(first.URL(), "htp:/"), &trace.Recorder{}, monitor.Options{}); err == nil {
		t.Error("listened twice on one address")
	}
	for _, addr := range []string{"localhost:0", "0.0.0.0:0"} {
		m, err := monitor.Listen(addr, &trace.Recorder{}, monitor.Options{Remote: addr[0] == '0'})
		if err != nil {
			t.Errorf("%s: %v", addr, err)
			continue
		}
		m.Close()
		if err := m.Close(); err != nil {
			t.Errorf("closed twice: %v", err)
		}
	}
}

// TestPage opens the page in a browser and looks at what its script made of the
// state.
func TestPage(t *testing.T) {
	r := recorder()
	m := listen(t, r)
	_, header, body := get(t, m.URL())
	if !strings.HasPrefix(header.Get("Content-Type"), "text/html") || len(body) == 0 {
		t.Fatalf("%v", header)
	}
	if regexp.MustCompile(`(src|href)\s*=|https?://`).Match(body) {
		t.Error("the page loads something from elsewhere")
	}
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("Chromium is not installed: make deps")
	}
	a := monitor.Activity{Title: "cholesky f64, n = 100", Phase: "timed", Run: 1, Runs: 3, Flops: 1e6}
	m.Describe(a)
	a.Run++
	m.Describe(a)
	m.Progress(3, 10)
	r.Tally(0).Worked(1e9)
	for worked := false; !worked; time.Sleep(10 * time.Millisecond) { // until there is a sample that has it
		var s monitor.State
		if _, _, body := get(t, m.URL()+"state"); json.Unmarshal(body, &s) != nil {
			t.Fatalf("%s", body)
		}
		worked = slices.ContainsFunc(s.Samples, func(s monitor.Sample) bool { return s.Work > 0 })
	}
	dom := shown(t, browser, hovered(t, r, m.URL(), body))
	for _, want := range []string{
		"1 of 2 workers busy",
		`<h1 id="title">cholesky f64, n = 100 · timed run 2 of 3</h1>`,
		`<progress id="progress" value="3" max="10"></progress>`,
		`<div id="done">3 of 10 tasks, 30 %, `,
		`<div id="past"><div>timed 1: `,
		`<h2 id="unit">GFLOP/s in the course of time</h2>`,
		`<div id="n-submitted"><b>10</b>submitted</div>`,
		`<div id="n-done"><b>3</b>done</div>`,
		"gemm/f64</td><td>avx2</td><td>2</td><td>2.00 ms</td>",
		"potrf/f64</td><td>avx2</td><td>1</td><td>1.00 ms</td><td>0.1 %</td><td>1.00 ms</td><td>1</td>",
		"</span>trsm/f64</div>",                                                 // in the legend
		"qr/f64 writes A(3,2)\nversion go, worker 0, task 5 of job 1\n1.00 s, ", // under the pointer
		"trsm/f64\nversion go, worker 1, task 4 of job 1\n",
		" so far, from ",
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("no %q on the page:\n%s", want, dom)
		}
	}
	if !strings.Contains(dom, `<section id="cluster" class="wide" hidden="">`) {
		t.Error("nodes on the page of one machine")
	}
}

// TestPageOfNothingYet: what cannot be known before something has happened is a dash, not 0.
func TestPageOfNothingYet(t *testing.T) {
	cluster := trace.Cluster{Nodes: []trace.Node{{Name: "driver", Workers: 1}, {Name: "node1", Workers: 2}}}
	m, err := monitor.Listen("127.0.0.1:0", &trace.Recorder{Limit: 100}, monitor.Options{Cluster: func() trace.Cluster { return cluster }})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	defer http.DefaultClient.CloseIdleConnections()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("Chromium is not installed: make deps")
	}
	var s monitor.State
	var state []byte
	for ; len(s.Samples) < 3; time.Sleep(10 * time.Millisecond) { // a rate is between samples: were it 0, there would be one
		if _, _, state = get(t, m.URL()+"state"); json.Unmarshal(state, &s) != nil {
			t.Fatalf("%s", state)
		}
	}
	_, _, page := get(t, m.URL())
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { w.Write(page) })
	mux.HandleFunc("/state", func(w http.ResponseWriter, _ *http.Request) { w.Write(state) }) // nothing happens
	front := httptest.NewServer(mux)
	defer front.Close()
	dom := shown(t, browser, front.URL)
	for _, want := range []string{
		`<div id="n-submitted"><b>0</b>submitted</div>`,
		`<div id="n-tasks/s"><b>–</b>tasks/s</div>`,
		`<div id="ratenow">–</div>`,
		// work and starving, what it has and waits for, tasks and their rate, operands, bytes in and out
		"<td>node1</td><td>there 0.0 µs</td><td>0/2</td><td>–</td><td>–</td><td>0</td><td>0</td><td>0</td><td>–</td>",
		"<td>0 B</td><td>–</td><td>0 B</td><td>–</td>",
	} {
		if !strings.Contains(dom, want) {
			t.Errorf("no %q on the page:\n%s", want, dom[strings.LastIndex(dom, "<h1"):])
		}
	}
}

// shown returns what the page at an address has become in a browser.
func shown(t *testing.T, browser, address string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=3000", "--dump-dom", address)
	c.WaitDelay = time.Second
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// hovered serves the page at another address, so that a task ends when the page first asks for the
// state, however long the browser takes until then, and with a pointer that goes over the timeline:
// what the page says then is added to its end.
func hovered(t *testing.T, r *trace.Recorder, to string, page []byte) string {
	t.Helper()
	const script = `<pre id="said"></pre><script>const hover = () => {
		$("span").value = "20";
		const canvas = $("gantt"), box = canvas.getBoundingClientRect(), said = new Set();
		for (const lane of [0, 1]) for (let x = 0; x < box.width; x += 2) {
			canvas.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + x, clientY: box.top + 10 + 26 * lane}));
			if ($("tip").style.display === "block") said.add($("tip").textContent);
		}
		$("said").textContent = [...said].join("\n");
		if (said.size < 2) setTimeout(hover, 100); // the state has yet to come
	};
	setTimeout(hover, 1000)</script>`
	server, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(server) }}
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	ends := sync.OnceFunc(func() {
		now := r.Now()
		r.Sink(0)(trace.Event{Job: 1, Task: 5, Op: "qr/f64", Version: "go", Datum: "A", I: 3, J: 2, Start: now, End: now + time.Second})
	})
	mux.HandleFunc("/state", func(w http.ResponseWriter, r *http.Request) {
		ends()
		proxy.ServeHTTP(w, r)
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Write(page)
		io.WriteString(w, script)
	})
	front := httptest.NewServer(mux)
	t.Cleanup(front.Close)
	return front.URL
}
