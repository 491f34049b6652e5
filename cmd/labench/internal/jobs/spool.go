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
	fileJob    = "job.json"    // the queue writes it, and nobody else
	fileEnded  = "ended.json"  // what job.json is called if the job has ended, and how could not be written
	fileInput  = "input"       // and what Spec.Input says
	FileLog    = "log.txt"     // what the process says on standard error
	FileReport = "report.json" // and on standard output
	FileText   = "report.txt"  // and there for people
	FileMatrix = "result.npy"  // of the nodes
	DirStates  = "states"      // of a checkpoint
)

// fileLock, in the spool, is locked by the agent whose it is, and by the process of its job.
const fileLock = "lock"

// spool is the directory of the jobs.
type spool string

// lock makes the directory, if need be, and takes it. It waits for another one to give it up,
// until ctx ends. The error is an *Error. Only the agent's user sees what is in a spool that it makes.
func (s spool) lock(ctx context.Context) (*os.File, error) {
	path := filepath.Join(string(s), fileLock)
	err := os.MkdirAll(string(s), 0o700)
	if err != nil {
		return nil, &Error{Broken, err.Error()}
	}
	// The file is never removed: who waits for its lock has it open, and another file of the same
	// name would have another lock.
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, &Error{Broken, err.Error()}
	}
	for { // no system tells who waits for a lock with a time limit
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

// at returns a path in the directory of a job. Its number is its name: a look into the spool
// finds what labench status lists.
func (s spool) at(id int, file string) string {
	return filepath.Join(string(s), strconv.Itoa(id), file)
}

// Input returns where the input of a job is.
func (j *Job) Input(dir string) string { return filepath.Join(dir, fileInput+j.Spec.Input) }

// idMost is the largest number that a job may have.
const idMost = math.MaxInt32

// read returns the jobs that there are. What has no job.json is somebody else's: it stays. Of a job
// that has ended, and how could not be written, that is said.
func (s spool) read() (all []*Job, err error) {
	entries, err := os.ReadDir(string(s))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, err := strconv.Atoi(e.Name())
		if err != nil || id < 1 || id > idMost || !e.IsDir() || strconv.Itoa(id) != e.Name() {
			continue // no name that at gives
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
		// One that cannot be read is somebody's work: a person has to look.
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

// lostEnd is why a job has failed whose end could not be written.
const lostEnd = "the agent could not write down how it ended: its disk failed, or was full"

// write keeps where a job stands, as a whole: a crash leaves the one or the other.
func (s spool) write(j *Job) error {
	text, err := json.MarshalIndent(j, "", "  ") // a person may have to read it
	if err != nil {
		return err
	}
	err = atomicfile.Write(s.at(j.ID, fileJob), 0o600, func(f *os.File) error {
		_, err := f.Write(append(text, '\n'))
		return err
	})
	if err == nil { // nothing is left of an end that could not be written
		_ = os.Remove(s.at(j.ID, fileEnded))
	}
	return err
}

// markEnded notes that a job has ended where write cannot: this takes no room on a full disk. No agent
// begins such a job again.
func (s spool) markEnded(id int) error { return os.Rename(s.at(id, fileJob), s.at(id, fileEnded)) }

// put writes a file of a job that is new, of so many bytes. They are on the disk when it
// returns: after a power cut a job that waits must not begin with zeros.
func (s spool) put(id int, file string, r io.Reader, size int64) error {
	f, err := os.OpenFile(s.at(id, file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	// Neither more nor less than was announced: room was kept for just that.
	if _, err = io.CopyN(f, r, size); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// tidy removes all files of a job but some: also those that a process was about to write. There
// are none if a person has removed the directory.
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

// remove removes a job: last what says that its directory is one of ours, in case that this
// process dies meanwhile.
func (s spool) remove(id int) error {
	if err := s.tidy(id, fileJob, fileEnded); err != nil {
		return err
	}
	return os.RemoveAll(s.at(id, ""))
}

// size returns the bytes of all files of a job. Links do not count, and are not followed.
func (s spool) size(id int) (sum int64) {
	_ = filepath.WalkDir(s.at(id, ""), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				sum += info.Size()
			}
		}
		return nil // what has gone meanwhile takes no room
	})
	return sum
}
