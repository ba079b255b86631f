package confine

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Lookup has the options of Locate.
type Lookup struct {
	// KeepLink does not follow the last component if it is a link.
	KeepLink bool
	// MakeParents creates missing parent directories.
	MakeParents bool
}

// Locate resolves rel (from Rel or Join) and returns its entry, which may not exist. The caller must close it.
func (r *Root) Locate(rel string, how Lookup) (*Entry, error) {
	w := walk{root: r, how: how, parts: split(rel)}
	for {
		entry, again, err := w.once()
		if !again {
			return entry, err
		}
	}
}

type walk struct {
	root  *Root
	how   Lookup
	parts []string
	links int
}

// once walks from the root to the end of the path. If it meets a link, it replaces it by its target and asks to be called
// again. All components before the link have been verified to be directories.
func (w *walk) once() (entry *Entry, again bool, err error) {
	dir, err := w.root.descriptor()
	if err != nil {
		return nil, false, err
	}
	defer func() {
		if entry == nil {
			unix.Close(dir)
		}
	}()
	for i, part := range w.parts {
		if part == ".." {
			err := w.climb(i)
			return nil, err == nil, err
		}
		last := i == len(w.parts)-1
		if last && w.how.KeepLink {
			return w.found(dir, part), false, nil
		}
		if last {
			isLink, err := w.spliceLink(dir, i)
			if err != nil || isLink {
				return nil, isLink && err == nil, err
			}
			return w.found(dir, part), false, nil
		}
		next, err := w.step(dir, part)
		if err == unix.ENOTDIR || err == unix.ELOOP {
			isLink, linkErr := w.spliceLink(dir, i)
			if linkErr != nil {
				return nil, false, linkErr
			}
			if isLink {
				return nil, true, nil
			}
		}
		if err != nil {
			return nil, false, err
		}
		unix.Close(dir)
		dir = next
	}
	return w.found(dir, "."), false, nil
}

func (w *walk) found(dir int, name string) *Entry {
	rel := strings.Join(w.parts, "/")
	if rel == "" {
		rel = "."
	}
	return &Entry{root: w.root, dir: dir, Name: name, Rel: rel}
}

func (w *walk) step(dir int, part string) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	next, err := unix.Openat(dir, part, flags, 0)
	if err != unix.ENOENT || !w.how.MakeParents {
		return next, err
	}
	err = unix.Mkdirat(dir, part, 0o755)
	if err == nil {
		err = w.root.owner.takeDirectory(dir, part)
	}
	if err != nil && err != unix.EEXIST {
		return -1, err
	}
	return unix.Openat(dir, part, flags, 0)
}

func (w *walk) climb(i int) error {
	if i == 0 {
		return ErrOutside
	}
	w.parts = slices.Delete(w.parts, i-1, i+1)
	return nil
}

// spliceLink replaces the link at part i by its target. It returns false if it does not exist or is not a link.
func (w *walk) spliceLink(dir, i int) (bool, error) {
	buffer := make([]byte, maxPathBytes)
	n, err := unix.Readlinkat(dir, w.parts[i], buffer)
	if err == unix.EINVAL || err == unix.ENOENT {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if w.links++; w.links > maxLinks {
		return false, unix.ELOOP
	}
	target, before := string(buffer[:n]), w.parts[:i]
	if strings.HasPrefix(target, "/") {
		rest, ok := below(w.root.path, target)
		if !ok {
			return false, ErrOutside
		}
		target, before = rest, nil
	}
	w.parts = slices.Concat(before, split(target), w.parts[i+1:])
	return true, nil
}

func split(rel string) []string {
	return slices.DeleteFunc(strings.Split(rel, "/"), func(part string) bool { return part == "" || part == "." })
}

// Descend resolves a relative path from a directory. Links on the way are an error. The caller must close the result.
func (e *Entry) Descend(rel string) (*Entry, error) {
	parts := split(rel)
	if len(parts) == 0 {
		return e.Child("")
	}
	current, err := e.Child(parts[0])
	for _, part := range parts[1:] {
		if err != nil {
			return nil, err
		}
		above := current
		current, err = above.Child(part)
		above.Close()
	}
	return current, err
}
