package confine

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const temporaryPrefix = ".sandboxd-tmp-"

// IsTemporary reports whether the name is that of a file that is being written. Listings omit these.
func IsTemporary(name string) bool {
	rest, ok := strings.CutPrefix(name, temporaryPrefix)
	return ok && len(rest) == 16
}

func temporaryName() string {
	var random [8]byte
	// Never returns an error on Linux.
	_, _ = rand.Read(random[:])
	return temporaryPrefix + hex.EncodeToString(random[:])
}

// Replacement is a new file that replaces an entry atomically when it is complete.
type Replacement struct {
	File   *os.File
	entry  *Entry
	name   string
	placed bool
}

// Replace creates a new file for the entry. The caller finishes with Commit, and must always call Discard.
func (e *Entry) Replace() (*Replacement, error) {
	name := temporaryName()
	fd, err := unix.Openat(e.dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	return &Replacement{File: os.NewFile(uintptr(fd), e.Rel), entry: e, name: name}, nil
}

// Commit sets owner and mode of the file and renames it. With durable it is synced to disk first.
func (r *Replacement) Commit(mode uint32, durable bool) error {
	if err := r.entry.root.owner.take(int(r.File.Fd())); err != nil {
		return err
	}
	if err := unix.Fchmod(int(r.File.Fd()), mode); err != nil {
		return err
	}
	if durable {
		if err := r.File.Sync(); err != nil {
			return err
		}
	}
	if err := unix.Renameat(r.entry.dir, r.name, r.entry.dir, r.entry.Name); err != nil {
		return err
	}
	r.placed = true
	return nil
}

// Discard closes the file, and removes it if it was not committed.
func (r *Replacement) Discard() {
	r.File.Close()
	if !r.placed {
		_ = unix.Unlinkat(r.entry.dir, r.name, 0)
	}
}
