package versions

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/tessera-la/tessera/internal/atomicfile"
)

// Load reads a profile from a file. A file that does not exist gives an empty profile. A damaged
// one, or one with values that no measurement gives, is renamed to path.corrupt-1 (-2, … if that
// exists) and replaced by an empty profile; the Warning says so. The error means that the file
// could not be read, or never was a profile (a *[ProfileError]); the profile is nil then.
func Load(path string) (*Profile, *Warning, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, nil, err
	}
	held, err := readProfile(path)
	var bad *ProfileError
	var warning *Warning
	if errors.As(err, &bad) && !foreign(path) {
		held, warning, err = rejectProfile(path, bad)
	}
	if err != nil {
		return nil, nil, err
	}
	p := new(Profile)
	p.load(path, held)
	return p, warning, nil
}

// rejectProfile renames a bad file, unless another process has replaced it by a good one before the
// lock was taken.
func rejectProfile(path string, bad *ProfileError) (contents, *Warning, error) {
	unlock, err := lockFile(path + lockSuffix)
	if err != nil {
		return contents{}, &Warning{File: path, Reason: errors.Join(bad, err)}, nil
	}
	defer unlock()
	held, err := readProfile(path)
	if !errors.As(err, &bad) {
		return held, nil, err
	}
	aside, err := setAside(path)
	if err != nil {
		return contents{}, &Warning{File: path, Reason: errors.Join(bad, err)}, nil
	}
	return contents{}, &Warning{File: path, SetAside: aside, Reason: bad}, nil
}

// Save merges into the file the times that p has learned since it was loaded from it or last saved
// to it. Times that other processes have added meanwhile stay and are counted along; p does not
// take them. A file that p was never loaded from or saved to gets all that p knows.
//
// The file is replaced atomically: a reader, also after a crash, sees the old one or the new one.
// While it is rewritten, the lock file path.lock excludes other processes; that file stays, empty,
// and the lock ends with the process. If Save does not get the lock within ten seconds it returns a
// *[LockedError]. After any error nothing is lost: the next Save tries again.
//
// A damaged profile is renamed as by [Load], and the Warning says so; then all that p knows is
// written. Any other file is left as it is: the error is a *[ProfileError].
func (p *Profile) Save(path string) (*Warning, error) {
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	unlock, err := lockFile(path + lockSuffix)
	if err != nil {
		return nil, err
	}
	defer unlock()

	var warning *Warning
	held, err := readProfile(path)
	if bad := (*ProfileError)(nil); errors.As(err, &bad) && !foreign(path) {
		aside, err := setAside(path)
		if err != nil {
			return nil, errors.Join(bad, err)
		}
		warning = &Warning{File: path, SetAside: aside, Reason: bad}
	} else if err != nil {
		return nil, err
	}

	file := p.fileIndex(path)
	all := p.take(file)
	merged := contents{mergeTimings(held.Timings, all, warning != nil), p.mergeTileSizes(held.TileSizes)}
	news := func(t taken) bool { return t.fresh || t.delta.count > 0 }
	if len(held.Timings) > 0 && !slices.ContainsFunc(all, news) && slices.Equal(merged.TileSizes, held.TileSizes) {
		return warning, nil // the file has it all
	}
	if err := writeProfile(path, merged); err != nil {
		giveBack(file, all)
		return warning, err
	}
	return warning, nil
}

// mergeTimings adds the taken times to a file's timings: the new part, or all of them if the file
// was lost.
func mergeTimings(held []Timing, all []taken, lost bool) []Timing {
	sum := make(map[timingKey]moments, len(held)+len(all))
	for i := range held {
		sum[held[i].key()] = held[i].moments()
	}
	for _, t := range all {
		m := sum[t.key]
		if t.fresh {
			m = moments{}
		}
		if lost || t.fresh {
			m.merge(t.total)
		} else {
			m.merge(t.delta)
		}
		if m.count > 0 {
			sum[t.key] = m
		}
	}
	ts := make([]Timing, 0, len(sum))
	for key, m := range sum {
		ts = append(ts, timingOf(key, m))
	}
	return ts
}

// resolve returns the absolute name of the file that path refers to. So a file has one name, and a
// link to it survives its rewriting.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path)), nil
	}
	return path, nil
}

// readProfile reads a profile's file; one that does not exist is empty. Wrong contents are a
// *ProfileError, other errors the system's.
func readProfile(path string) (contents, error) {
	// Opening a pipe would block, hence the look before.
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return contents{}, nil
	}
	if err != nil {
		return contents{}, err
	}
	if !info.Mode().IsRegular() {
		return contents{}, &fs.PathError{Op: "read profile", Path: path, Err: errors.New("not a regular file")}
	}
	if info.Size() > maxProfile {
		return contents{}, tooLarge(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return contents{}, err
	}
	defer f.Close()
	// It may have grown; one byte more than allowed is enough to be refused.
	data, err := io.ReadAll(io.LimitReader(f, maxProfile+1))
	if err != nil {
		return contents{}, err
	}
	c, err := parseProfile(data)
	if bad := (*ProfileError)(nil); errors.As(err, &bad) {
		bad.File = path
	}
	return c, err
}

// foreign reports whether the file at path never was a profile, but some other file named by
// mistake. A file that a crash has emptied is not foreign.
func foreign(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, 1<<10))
	return err == nil && len(bytes.Trim(head, "\x00 \t\r\n")) > 0 && !bytes.Contains(head, []byte(profileFormat))
}

// maxAside bounds the number of files set aside beside one profile.
const maxAside = 10000

// setAside renames the file at path to path.corrupt-n with the first free n from 1. The lock must
// be held.
func setAside(path string) (string, error) {
	for n := 1; n <= maxAside; n++ {
		aside := fmt.Sprintf("%s.corrupt-%d", path, n)
		// Creating the name first ensures that the rename overwrites only this empty file.
		f, err := os.OpenFile(aside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		f.Close()
		if err := os.Rename(path, aside); err != nil {
			return "", errors.Join(err, os.Remove(aside))
		}
		return aside, nil
	}
	return "", fmt.Errorf("%s: too many files set aside", path)
}

const lockSuffix = ".lock"

// writeProfile replaces the file at path atomically. The lock must be held: so an unfinished file
// is that of a dead process, and may go.
func writeProfile(path string, c contents) (err error) {
	data, err := encodeProfile(c)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	for _, left := range atomicfile.Unfinished(path) {
		os.Remove(left)
	}
	return atomicfile.Write(path, 0o644, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}
