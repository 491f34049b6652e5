package versions

import (
	"errors"
	"os"
	"time"

	"github.com/tessera-la/tessera/internal/filelock"
)

// How long lockFile waits for another process: saving takes milliseconds.
const (
	lockTries = 1000
	lockPause = 10 * time.Millisecond
)

// lockFile takes the lock of the file name, and returns the function that releases it. The file is
// created if need be and never removed: else a process that waits for it could get a lock that no
// other sees.
func lockFile(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for range lockTries {
		got, err := filelock.Try(f)
		if err != nil {
			return nil, errors.Join(&os.PathError{Op: "lock", Path: name, Err: err}, f.Close())
		}
		if got {
			return func() { f.Close() }, nil
		}
		time.Sleep(lockPause)
	}
	return nil, errors.Join(&LockedError{File: name}, f.Close())
}
