package confine

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

const temporaryPrefix = ".sandboxd-tmp-"

// IsTemporary tells the names of files that are still being written; listings leave them out.
func IsTemporary(name string) bool {
	rest, ok := strings.CutPrefix(name, temporaryPrefix)
	return ok && len(rest) == 16
}

func temporaryName() string {
	var random [8]byte
	// Never fails on Linux: the runtime aborts instead.
	_, _ = rand.Read(random[:])
	return temporaryPrefix + hex.EncodeToString(random[:])
}

// Replacement is a new file that takes the place of an entry when it is complete, so that a reader sees the old or
// the new content and nothing between.
type Replacement struct {
	File   *os.File
	entry  *Entry
	name   string
	placed bool
}

// Replace begins a new content for the entry. The caller ends it with Commit, and always with Discard.
func (e *Entry) Replace() (*Replacement, error) {
	name := temporaryName()
	fd, err := unix.Openat(e.dir, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	return &Replacement{File: os.NewFile(uintptr(fd), e.Rel), entry: e, name: name}, nil
}

// Commit gives the file its owner, its mode and its name. With durable it survives a crash of the machine.
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

// Discard closes the file and takes away what was not committed.
func (r *Replacement) Discard() {
	r.File.Close()
	if !r.placed {
		_ = unix.Unlinkat(r.entry.dir, r.name, 0)
	}
}
