package files

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

// maxDepth limits walks, which keep one descriptor open per level.
const maxDepth = 256

type visitor func(entry *confine.Entry, stat *unix.Stat_t) error

// walk visits everything below a directory in the order of names. It does not follow links.
type walk struct {
	ctx context.Context
	// before is called for each entry, for directories before their content. after is called after their content.
	before, after visitor
	// depth is the number of levels to visit. 0 means all; then more than maxDepth levels are an error.
	depth int
}

func (w walk) below(top *confine.Entry) error { return w.level(top, 1) }

func (w walk) level(dir *confine.Entry, level int) error {
	if level > maxDepth {
		return api.Refuse(api.InvalidArgument, "Cannot walk %q: it is nested deeper than %d directories", dir.Rel, maxDepth)
	}
	names, err := Names(dir)
	if err != nil {
		return err
	}
	inside, err := dir.Child("")
	if err != nil {
		return err
	}
	defer inside.Close()
	for _, name := range names {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if err := w.one(inside.Sibling(name), level); err != nil {
			return err
		}
	}
	return nil
}

func (w walk) one(entry *confine.Entry, level int) error {
	stat, err := entry.Stat()
	if errors.Is(err, unix.ENOENT) {
		// Deleted since it was listed.
		return nil
	}
	if err == nil && w.before != nil {
		err = w.before(entry, &stat)
	}
	if err == nil && isKind(&stat, unix.S_IFDIR) && level != w.depth {
		err = w.level(entry, level+1)
	}
	if err == nil && w.after != nil {
		err = w.after(entry, &stat)
	}
	return err
}
