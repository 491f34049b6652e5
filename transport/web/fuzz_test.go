package web

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// FuzzServe: whatever a request says, the node answers, and nobody is there by it who has not
// answered himself.
func FuzzServe(f *testing.F) {
	f.Add("POST", "/v1/greet", "a", "1", "", `{"Name":"a","Life":1,"Address":"127.0.0.1:1","Known":7}`)
	f.Add("POST", "/v1/greet", "a", "1", "", `{"Name":"b","Others":{"c":"x"}}`)
	f.Add("POST", "/v1/message", "a", "1", "1s", "message")
	f.Add("POST", "/v1/message", "there", "7", "4s", "message")
	f.Add("POST", "/v1/leave", "a", "1", "", "")
	f.Add("GET", "/v1/value?job=1&matrix=2&i=-3&j=4&version=5", "a", "1", "", "")
	f.Add("GET", "/v1/value?job=1&job=%zz", "a", "1", "", "")
	f.Add("DELETE", "//..", "", "-1", "x", "")
	x, err := New(Options{Name: "self", Listen: "127.0.0.1:0", Plain: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.Fatal(err)
	}
	n := x.(*node)
	n.handle = func(string, []byte) {}
	f.Cleanup(func() { n.Close() })
	f.Fuzz(func(t *testing.T, method, uri, from, life, wait, body string) {
		n.members.answered(&greeting{Name: "there", Life: 7}, "127.0.0.1:2", time.Now())
		var c fasthttp.RequestCtx
		c.Request.Header.SetMethod(method)
		c.Request.SetRequestURI(uri)
		c.Request.Header.Set(headerFrom, from)
		c.Request.Header.Set(headerLife, life)
		c.Request.Header.Set(headerWait, wait)
		c.Request.SetBodyString(body)
		n.serve(&c)
		if s := c.Response.StatusCode(); s < 200 && s != fasthttp.StatusSwitchingProtocols || s >= 500 {
			t.Errorf("status %d", s)
		}
		for _, name := range n.Nodes() {
			if name != "there" {
				t.Errorf("%q is there", name)
			}
		}
		if r, err := parse(uri); err == nil {
			if again, err := parse(query(r)); err != nil || again != r {
				t.Errorf("%v became %v, %v", r, again, err)
			}
		}
	})
}

// FuzzGreeting: what another node answers is taken or refused, and fills no memory.
func FuzzGreeting(f *testing.F) {
	f.Add([]byte(`{"Name":"a","Life":1,"Address":"127.0.0.1:1","Known":7,"Others":{"b":"127.0.0.1:2","self":"x"}}`))
	f.Add([]byte(`{"Others":{"":""}}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var g greeting
		if json.Unmarshal(b, &g) != nil {
			return
		}
		m := newMembers()
		m.answered(&g, g.Address, time.Now())
		m.told(g.Others)
		to := map[string]struct{}{}
		m.tick(to)
		if greeted := len(to) + len(m.next(strangersMost)); len(m.there()) != 1 || greeted > 1+len(g.Others) {
			t.Errorf("%+v: %d are there, %d are greeted", g, len(m.there()), greeted)
		}
	})
}
