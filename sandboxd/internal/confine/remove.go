package confine

import (
	"context"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// namesPerRead limits the memory for a huge directory.
const namesPerRead = 1024

// RemoveAll removes the entry and everything below it. Of the root it removes only the content.
//
// Code in a sandbox can nest directories deeper than any recursion or descriptor limit. So at most two directories are
// open at a time, and deeper ones are first moved up. If files are added all the time, it runs until the context ends.
func (e *Entry) RemoveAll(ctx context.Context) error {
	if !e.IsRoot() {
		err := e.Remove()
		if err != unix.ENOTEMPTY && err != unix.EEXIST {
			return err
		}
	}
	dir, err := e.Open(unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := empty(ctx, dir); err != nil {
		return err
	}
	if e.IsRoot() {
		return nil
	}
	return unix.Unlinkat(e.dir, e.Name, unix.AT_REMOVEDIR)
}

// empty removes everything in dir. Each pass removes the entries that contain no directories, and moves the grandchildren
// of the others up, so that the depth shrinks by one.
func empty(ctx context.Context, dir *os.File) error {
	return eachName(ctx, dir, func(name string) error {
		gone, err := removeOne(dir, name)
		if gone || err != nil {
			return err
		}
		return lift(ctx, dir, name)
	})
}

// lift moves the directories inside name up into dir, and removes name.
func lift(ctx context.Context, dir *os.File, name string) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	child := os.NewFile(uintptr(fd), name)
	defer child.Close()
	err = eachName(ctx, child, func(grandchild string) error {
		gone, err := removeOne(child, grandchild)
		if gone || err != nil {
			return err
		}
		return unix.Renameat(int(child.Fd()), grandchild, int(dir.Fd()), temporaryName())
	})
	if err != nil {
		return err
	}
	return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR)
}

// removeOne removes an entry. It returns false for a directory that is not empty.
func removeOne(dir *os.File, name string) (bool, error) {
	entry := Entry{dir: int(dir.Fd()), Name: name}
	switch err := entry.Remove(); err {
	case nil, unix.ENOENT:
		return true, nil
	case unix.ENOTEMPTY, unix.EEXIST:
		return false, nil
	default:
		return false, err
	}
}

// eachName calls visit for the names in dir, repeatedly until dir is empty.
func eachName(ctx context.Context, dir *os.File, visit func(name string) error) error {
	for {
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
		found := false
		for {
			names, err := dir.Readdirnames(namesPerRead)
			for _, name := range names {
				found = true
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := visit(name); err != nil {
					return err
				}
			}
			if err == io.EOF || len(names) == 0 {
				break
			}
			if err != nil {
				return err
			}
		}
		if !found {
			return nil
		}
	}
}
