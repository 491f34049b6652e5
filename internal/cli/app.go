package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/tessera-la/tessera/internal/report"
	"github.com/tessera-la/tessera/internal/topo"
)

// App holds what all commands share: their outputs, and properties of the process. Tests pass buffers.
type App struct {
	Out io.Writer // results: reports, tables, JSON
	Err io.Writer // errors, warnings and the progress bar
	// Each is where each of several processes that start together writes its own messages.
	Each io.Writer

	Agent    bool // the process logs for programs
	Attached bool // the process is an agent, started by the process that uses it
	holding  sync.Once
	held     *heldWriter // holds back messages while a report is written: see Asides

	Job    bool // an agent reads the errors and breaks their lines itself
	NoPeak bool // do not measure the machine's peak with each run
	Cores  int  // that the process may use; 0 means all
}

// New returns the App of a process.
func New() *App { return &App{Out: os.Stdout, Err: os.Stderr} }

// Warn writes a warning.
func (a *App) Warn(text string) { report.FprintWrapped(a.Err, "labench: warning: ", text) }

// Object writes v as one line of JSON.
func (a *App) Object(v any) error { return json.NewEncoder(a.Out).Encode(v) }

// Document writes v as one indented JSON document.
func (a *App) Document(v any) error { return WriteDocument(a.Out, v) }

// WriteDocument writes v to w as one indented JSON document.
func WriteDocument(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// WarnCrowded warns if there are more workers than cores. That is allowed, and only slows arithmetic down.
func (a *App) WarnCrowded(workers int) {
	if cores := cmp.Or(a.Cores, topo.Detect().Workers()); workers > cores {
		a.Warn(fmt.Sprintf("%s share %s: that shows what oversubscription costs, not what the machine can do",
			report.Count(workers, "worker"), report.Count(cores, "core")))
	}
}

// Log returns the log of this process as a node. A stand-alone agent logs lines for programs. A driver, or an
// agent that a driver has started, writes sentences for a person, after the report that is being written.
func (a *App) Log(name string) *slog.Logger {
	if a.Agent {
		return logTo(a.Err)
	}
	return slog.New(&Sentences{To: a.Asides(), Label: "labench: " + name})
}

// Asides returns the writer for messages that are no part of a report. They go to Err, after the report that is
// being written.
func (a *App) Asides() *heldWriter {
	a.holding.Do(func() { a.held = &heldWriter{w: a.Err} })
	return a.held
}
