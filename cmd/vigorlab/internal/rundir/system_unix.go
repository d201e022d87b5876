//go:build unix

package rundir

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir takes the lock of a directory, which the system releases when the
// process ends, however it ends. A file system without locks goes unlocked.
func lockDir(path string) (io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		conflict := &ConflictError{path, "is being written by another run", "wait for it, or name another directory"}
		return nil, errors.Join(conflict, f.Close())
	}
	return f, nil
}

// mounted reports whether a directory is the root of a file system: it cannot
// be renamed away.
func mounted(path string) bool {
	var at, above syscall.Stat_t
	if syscall.Stat(path, &at) != nil || syscall.Stat(filepath.Dir(path), &above) != nil {
		return false
	}
	return at.Dev != above.Dev
}
