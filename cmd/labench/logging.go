package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// logTo returns what an agent tells who runs it, line by line for programs that read logs.
func logTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, at slog.Attr) slog.Attr {
		if at.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return at
	}}))
}

// log returns what this process tells as a node. What drives, and an agent that it has started, talk to
// a person: in sentences, and not between the lines of a report.
func (a *app) log(name string) *slog.Logger {
	if a.agent {
		return logTo(a.err)
	}
	return slog.New(&sentences{to: a.asides(), label: "labench: " + name})
}

// asides returns where to tell what is no part of a report: on a.err, or after the report that is being
// written.
func (a *app) asides() *heldWriter {
	a.holding.Do(func() { a.held = &heldWriter{w: a.err} })
	return a.held
}

// heldWriter is a writer that can be held: what is written then comes afterwards. It is safe for concurrent
// use.
type heldWriter struct {
	mu   sync.Mutex
	w    io.Writer
	held bool
	kept bytes.Buffer
}

// Write implements [io.Writer].
func (h *heldWriter) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held {
		return h.kept.Write(b)
	}
	return h.w.Write(b)
}

// hold holds the writer until release is called.
func (h *heldWriter) hold() (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.held = false
		_, _ = h.kept.WriteTo(h.w)
	}
}

// sentences is a slog.Handler that writes "labench: a node has left: node agent1, error …".
type sentences struct {
	to    io.Writer
	label string
	said  []string // by With
}

// Enabled implements [slog.Handler].
func (s *sentences) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements [slog.Handler].
func (s *sentences) Handle(_ context.Context, r slog.Record) error {
	words := append([]string{}, s.said...)
	r.Attrs(func(at slog.Attr) bool {
		if at.Value.Any() != nil { // no error, say
			words = append(words, fmt.Sprintf("%s %v", at.Key, at.Value))
		}
		return true
	})
	text := r.Message
	if r.Level >= slog.LevelWarn {
		text = "warning: " + text
	}
	if len(words) > 0 {
		text += ": " + strings.Join(words, ", ")
	}
	return fprintWrapped(s.to, s.label, text)
}

// WithAttrs implements [slog.Handler].
func (s *sentences) WithAttrs(all []slog.Attr) slog.Handler {
	more := &sentences{s.to, s.label, append([]string{}, s.said...)}
	for _, at := range all {
		more.said = append(more.said, fmt.Sprintf("%s %v", at.Key, at.Value))
	}
	return more
}

// WithGroup implements [slog.Handler].
func (s *sentences) WithGroup(string) slog.Handler { return s }
