package jobs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tessera-la/tessera/internal/listen"
	"github.com/tessera-la/tessera/transport/web"
	"github.com/tessera-la/tessera/transport/web/certs"
)

// TestStranger: what a client says of a server that is no agent's, and that it goes when it is told
// to, although no answer comes.
func TestStranger(t *testing.T) {
	before := goleak.IgnoreCurrent()
	asked := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/jobs/1":
			w.WriteHeader(http.StatusNoContent)
		case "/v1/jobs/2":
			http.Redirect(w, r, "/v1/jobs", http.StatusFound)
		default:
			close(asked)
			<-r.Context().Done()
		}
	}))
	t.Cleanup(func() {
		s.Close()
		goleak.VerifyNone(t, before)
	})
	c := NewClient(s.Listener.Addr().String(), nil)
	defer c.Close()
	for id, want := range map[int]string{1: "status 204", 2: "status 302"} {
		if _, err := c.Job(t.Context(), id); !is(err, Broken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-asked
		stop()
	}()
	if _, err := c.Jobs(ctx); !is(err, Broken) {
		t.Errorf("an answer that does not come: %v", err)
	}
}

// TestTrust: without a certificate of the cluster nobody gets an answer, and nobody else's
// server is believed.
func TestTrust(t *testing.T) {
	dir := t.TempDir()
	authority := func(name string) string {
		a, _, err := certs.Open(filepath.Join(dir, name))
		if err == nil {
			err = a.Node(filepath.Join(dir, name, "node1"), "node1", time.Hour)
		}
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name, "node1")
	}
	config, _, err := certs.Read(authority("ours"))
	if err != nil {
		t.Fatal(err)
	}
	server, _ := web.Secure(config)
	ours, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	q, err := Open(t.Context(), options(filepath.Join(dir, "spool")))
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(q, server, slog.New(slog.DiscardHandler))
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(ours) })
	t.Cleanup(func() {
		_ = s.Close()
		_ = ours.Close()
		running.Wait()
		_ = q.Close()
	})
	address := ours.Addr().String()
	for name, want := range map[string]bool{"ours": true, "others": false} {
		config := config
		if !want {
			if config, _, err = certs.Read(authority(name)); err != nil {
				t.Fatal(err)
			}
		}
		_, client := web.Secure(config)
		c := NewClient(address, client)
		j, err := c.Submit(t.Context(), Spec{Args: []string{"good"}}, nil, 0)
		c.Close()
		if (err == nil) != want || want && j.Owner != "node1" {
			t.Errorf("%s: %+v, %v", name, j, err)
		}
	}
	c := NewClient(address, nil)
	defer c.Close()
	if _, err := c.Jobs(t.Context()); !is(err, Broken) || !strings.Contains(err.Error(), "wants a certificate") {
		t.Errorf("without TLS: %v", err)
	}
	plain := httptest.NewServer(nil)
	defer plain.Close()
	_, client := web.Secure(config)
	c = NewClient(plain.Listener.Addr().String(), client)
	defer c.Close()
	if _, err := c.Jobs(t.Context()); !is(err, Broken) || !strings.Contains(err.Error(), "without certificates") {
		t.Errorf("with TLS, where there is none: %v", err)
	}
}

// TestNameless: a certificate of the cluster that names nobody is refused.
func TestNameless(t *testing.T) {
	q, err := Open(t.Context(), options(filepath.Join(t.TempDir(), "spool")))
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	s := NewServer(q, &tls.Config{}, slog.New(slog.DiscardHandler))
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/jobs", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
	s.serve(w, r)
	if w.Code == http.StatusOK || !strings.Contains(w.Body.String(), "no DNS name") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	r.TLS.PeerCertificates[0].DNSNames = []string{"node1"}
	w = httptest.NewRecorder()
	if s.serve(w, r); w.Code != http.StatusOK {
		t.Errorf("with a name: %d %s", w.Code, w.Body)
	}
}

// TestIdle: more idle connections than there may be keep nobody out.
func TestIdle(t *testing.T) {
	x := serve(t, t.TempDir())
	for range 2*listen.Strangers() + 50 {
		c, err := net.Dial("tcp", x.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	if _, err := x.Jobs(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestServeEnds: what ends the server is its error.
func TestServeEnds(t *testing.T) {
	q, err := Open(t.Context(), options(filepath.Join(t.TempDir(), "spool")))
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	s := NewServer(q, nil, slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	l.Close()
	if err := <-ended; err == nil {
		t.Error("it ends without an error")
	}
	_ = s.Close()
}
