package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/tessera-la/tessera/internal/report"
)

// logTo returns the log of a stand-alone agent: one line per record, for programs that read logs.
func logTo(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, at slog.Attr) slog.Attr {
		if at.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return at
	}}))
}

// heldWriter is a writer that can be held: output written meanwhile appears afterwards. It is safe for
// concurrent use.
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

// Hold holds back output until release is called.
func (h *heldWriter) Hold() (release func()) {
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

// Sentences is a slog.Handler that writes sentences: "labench: a node has left: node agent1, error …".
type Sentences struct {
	To    io.Writer
	Label string
	said  []string // attributes added by WithAttrs
}

// Enabled implements [slog.Handler].
func (s *Sentences) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// Handle implements [slog.Handler].
func (s *Sentences) Handle(_ context.Context, r slog.Record) error {
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
	return report.FprintWrapped(s.To, s.Label, text)
}

// WithAttrs implements [slog.Handler].
func (s *Sentences) WithAttrs(all []slog.Attr) slog.Handler {
	more := &Sentences{s.To, s.Label, append([]string{}, s.said...)}
	for _, at := range all {
		more.said = append(more.said, fmt.Sprintf("%s %v", at.Key, at.Value))
	}
	return more
}

// WithGroup implements [slog.Handler].
func (s *Sentences) WithGroup(string) slog.Handler { return s }
