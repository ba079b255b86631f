package files

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

// copyTree copies a file, a link or a directory with its content. Existing files are overwritten only with replace.
func copyTree(ctx context.Context, from, to *confine.Entry, replace bool) error {
	if to.Rel == from.Rel || strings.HasPrefix(to.Rel+"/", from.Rel+"/") {
		return api.Refuse(api.InvalidArgument, "Cannot copy %q to %q: the target is inside the source", from.Rel, to.Rel)
	}
	stat, err := from.Stat()
	if err != nil {
		return err
	}
	if err := copyOne(from, &stat, to, replace); err != nil || !isKind(&stat, unix.S_IFDIR) {
		return err
	}
	return walk{ctx: ctx, before: func(entry *confine.Entry, stat *unix.Stat_t) error {
		target, err := to.Descend(strings.TrimPrefix(entry.Rel, from.Rel+"/"))
		if err != nil {
			return err
		}
		defer target.Close()
		return copyOne(entry, stat, target, replace)
	}}.below(from)
}

func copyOne(from *confine.Entry, stat *unix.Stat_t, to *confine.Entry, replace bool) error {
	if !replace && !isKind(stat, unix.S_IFDIR) {
		if _, err := to.Stat(); err == nil {
			return unix.EEXIST
		}
	}
	mode := stat.Mode & 0o777
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if err := to.Mkdir(mode | 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		return nil
	case unix.S_IFLNK:
		target, err := from.Readlink()
		if err != nil {
			return err
		}
		return replaceLink(to, target)
	case unix.S_IFREG:
		return copyFile(from, to, mode)
	}
	return api.Refuse(api.InvalidArgument, "Cannot copy %q: it is a %s", from.Rel, kindName(stat))
}

func replaceLink(to *confine.Entry, target string) error {
	err := to.Symlink(target)
	if errors.Is(err, unix.EEXIST) {
		if err = to.Remove(); err == nil {
			err = to.Symlink(target)
		}
	}
	return err
}

func copyFile(from, to *confine.Entry, mode uint32) error {
	source, _, err := OpenRegular(from, from.Rel)
	if err != nil {
		return err
	}
	defer source.Close()
	replacement, err := to.Replace()
	if err != nil {
		return err
	}
	defer replacement.Discard()
	if err := copySparse(replacement.File, source); err != nil {
		return err
	}
	return replacement.Commit(mode, false)
}
