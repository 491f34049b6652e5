package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/tessera-la/tessera/internal/atomicfile"
	"github.com/tessera-la/tessera/internal/filelock"
)

// Files of a job's directory.
const (
	fileJob    = "job.json"    // written by the queue only
	fileEnded  = "ended.json"  // name of job.json if the job has ended but its end could not be written
	fileInput  = "input"       // with Spec.Input appended
	FileLog    = "log.txt"     // standard error of the process
	FileReport = "report.json" // its standard output, without progress and text
	FileText   = "report.txt"  // its report for people
	FileMatrix = "result.npy"  // written by the nodes
	DirStates  = "states"      // of checkpoints
)

// fileLock, in the spool, is locked by the agent that uses the spool, and by the process of its job.
const fileLock = "lock"

// spool is the path of the directory of jobs.
type spool string

// lock makes the directory if necessary, and locks it. It waits until another agent has released it, or ctx
// ends. The error is an *Error. A directory that it makes is accessible to the agent's user only.
func (s spool) lock(ctx context.Context) (*os.File, error) {
	path := filepath.Join(string(s), fileLock)
	err := os.MkdirAll(string(s), 0o700)
	if err != nil {
		return nil, &Error{Broken, err.Error()}
	}
	// The file is never removed. A process that waits for its lock has it open, and a new file of the same name
	// would have another lock.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, &Error{Broken, err.Error()}
	}
	for { // no system has file locks with a time limit
		got, err := filelock.Try(f)
		switch {
		case err != nil:
			f.Close()
			return nil, &Error{Broken, fmt.Sprintf("%s cannot be locked: %v", path, err)}
		case got:
			return f, nil
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, &Error{Locked, fmt.Sprintf("the spool %s is that of another agent: it has not ended, or its job has not", string(s))}
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// at returns a path in the directory of a job. The directory is named by the job's number, as in labench
// status.
func (s spool) at(id int, file string) string {
	return filepath.Join(string(s), strconv.Itoa(id), file)
}

// Input returns the path of a job's input in dir.
func (j *Job) Input(dir string) string { return filepath.Join(dir, fileInput+j.Spec.Input) }

// idMost is the largest number that a job may have.
const idMost = math.MaxInt32

// read returns the jobs in the spool. A directory without job.json is left alone. A job that has ended but
// whose end could not be written is marked as failed, with that reason.
func (s spool) read() (all []*Job, err error) {
	entries, err := os.ReadDir(string(s))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil || id < 1 || id > idMost || !e.IsDir() || strconv.Itoa(id) != e.Name() {
			continue // not a name that at makes
		}
		path := s.at(id, fileJob)
		text, err := os.ReadFile(path)
		lost := false
		if errors.Is(err, fs.ErrNotExist) {
			path = s.at(id, fileEnded)
			text, err = os.ReadFile(path)
			lost = err == nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		j := &Job{}
		if err == nil {
			err = json.Unmarshal(text, j)
		}
		if err == nil {
			err = j.checkWritten() // Input becomes part of a path
		}
		// An unreadable job may hold a user's work: leave it for a person to look at.
		if err != nil {
			return nil, &Error{Broken, path + ": " + err.Error()}
		}
		if j.ID = id; lost {
			j.State, j.Error = Failed, lostEnd
		}
		all = append(all, j)
	}
	return all, nil
}

// lostEnd is the error of a job whose end could not be written.
const lostEnd = "the agent could not write down how it ended: its disk failed, or was full"

// write stores the state of a job atomically: after a crash the file has either the old or the new state.
func (s spool) write(j *Job) error {
	text, err := json.MarshalIndent(j, "", "  ") // indented, since a person may have to read it
	if err != nil {
		return err
	}
	err = atomicfile.Write(s.at(j.ID, fileJob), 0o600, func(f *os.File) error {
		_, err := f.Write(append(text, '\n'))
		return err
	})
	if err == nil { // now the end is written, so the mark of markEnded is obsolete
		_ = os.Remove(s.at(j.ID, fileEnded))
	}
	return err
}

// markEnded marks a job as ended if write fails. Renaming needs no room on a full disk. No agent starts such a
// job again.
func (s spool) markEnded(id int) error { return os.Rename(s.at(id, fileJob), s.at(id, fileEnded)) }

// put writes a file of a new job, of size bytes, and syncs it: after a power failure a waiting job must not
// start with zeros.
func (s spool) put(id int, file string, r io.Reader, size int64) error {
	f, err := os.OpenFile(s.at(id, file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	// Exactly as much as announced, since room is reserved for that.
	if _, err = io.CopyN(f, r, size); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// tidy removes all files of a job except the given ones, and temporary files of a process. It does nothing if a
// user has removed the directory.
func (s spool) tidy(id int, but ...string) error {
	entries, err := os.ReadDir(s.at(id, ""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !slices.Contains(but, e.Name()) {
			err = errors.Join(err, os.RemoveAll(s.at(id, e.Name())))
		}
	}
	return err
}

// remove removes a job. job.json goes last, so that the directory is still known as a job if this process dies
// meanwhile.
func (s spool) remove(id int) error {
	if err := s.tidy(id, fileJob, fileEnded); err != nil {
		return err
	}
	return os.RemoveAll(s.at(id, ""))
}

// size returns the bytes of all files of a job. Links are not followed and do not count.
func (s spool) size(id int) (sum int64) {
	_ = filepath.WalkDir(s.at(id, ""), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil // removed meanwhile: takes no room
	})
	return sum
}
