package jobs

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	patience   = 20 * time.Second // for a process that was asked to end
	reasonMost = 2000             // bytes of Job.Error
)

// process runs the process of a job.
type process struct {
	job      *Job
	spool    spool
	lock     *os.File                  // of the spool
	kept     func(io.Writer) io.Writer // see Queue
	progress func(done, total int)
	log      *slog.Logger
}

// run runs the process until it ends, or until ctx does, which ends it. It holds no lock: a job may take days.
func (p *process) run(ctx context.Context, command func(j *Job, dir string) *exec.Cmd) error {
	// If a job is started again, its log and report start anew. A report exists only once it is complete.
	if err := p.spool.tidyReports(p.job.ID); err != nil {
		return err
	}
	log, err := os.OpenFile(p.spool.at(p.job.ID, FileLog), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	reports, err := newReports(p.spool, p.job.ID, p.kept)
	if err != nil {
		return err
	}
	defer reports.discard()
	dir, err := filepath.Abs(p.spool.at(p.job.ID, ""))
	if err != nil {
		return err
	}
	// The process communicates by its input, whose end tells it to end, by its output (progress and report) and
	// by its standard error (the log).
	c := command(p.job, dir)
	stdin, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	said := &capped{w: log, left: logMost}
	c.Stderr = said
	if runtime.GOOS != "windows" { // Windows does not pass files on to a process
		c.ExtraFiles = []*os.File{p.lock} // the spool stays locked until the process has ended, too
	}
	if err := c.Start(); err != nil {
		return err
	}
	unwatch := endWith(ctx, c.Process, stdin)
	defer unwatch()
	p.follow(out, reports) // to its end before Wait, which closes the pipe
	// A failed job may have a report, too; the report is then not the reason.
	err = cmp.Or(c.Wait(), reports.commit())
	if said.err != nil { // the result of the job does not depend on the log
		p.log.Warn("the log of a job is not whole", "job", p.job.ID, "error", said.err)
	}
	return err
}

// endWith asks a process to end when ctx ends, by closing its standard input: so the process also ends if this one
// dies. A process that does not end within patience is killed; that has no effect once it has ended. The caller calls
// unwatch when it has.
func endWith(ctx context.Context, p *os.Process, stdin io.Closer) (unwatch func()) {
	over := make(chan struct{})
	ending := sync.WaitGroup{}
	ending.Go(func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		_ = stdin.Close()
		select {
		case <-over:
		case <-time.After(patience):
			_ = p.Kill()
		}
	})
	return func() {
		close(over)
		ending.Wait()
	}
}

// follow reads what the process writes, its progress and its report, until the end. If a report cannot be
// kept, the rest is read and dropped. Otherwise the process would block in writing it.
func (p *process) follow(out io.Reader, reports *reports) {
	lines := bufio.NewReader(out)
	for {
		// The last line may lack its newline. It comes with an error, and still counts.
		line, err := lines.ReadString('\n')
		var done, total int
		if n, _ := fmt.Sscanf(line, "progress %d %d", &done, &total); n == 2 {
			p.progress(done, total)
		} else {
			reports.add(line)
		}
		if err != nil {
			return
		}
	}
}

// reason returns why the job has failed: the last message of its log, or else how its process ended.
func (p *process) reason(err error) string {
	f, wrong := os.Open(p.spool.at(p.job.ID, FileLog))
	if wrong != nil {
		return err.Error()
	}
	defer f.Close()
	if info, wrong := f.Stat(); wrong == nil {
		_, _ = f.Seek(max(info.Size()-reasonMost, 0), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, reasonMost))
	said := string(text)
	// labench prints the error last, in one line, and maybe remedies in further lines. Warnings come before.
	if i := strings.LastIndex(said, "labench: "); i >= 0 {
		return strings.TrimSpace(said[i+len("labench: "):])
	}
	return err.Error()
}

// capped is a writer that drops bytes beyond a limit, and bytes that cannot be written. An error would stop the
// process that writes, and with it the job.
type capped struct {
	w    io.Writer
	left int
	err  error // of the first write that failed
}

// Write implements [io.Writer].
func (c *capped) Write(b []byte) (int, error) {
	n := min(len(b), c.left)
	c.left -= n
	if _, err := c.w.Write(b[:n]); err != nil {
		c.left, c.err = 0, cmp.Or(c.err, err)
	}
	return len(b), nil
}
