package files

import (
	"context"
	"errors"
	"net/http"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

const (
	// maxWatchers is the limit of concurrent watches. Each uses an inotify instance, of which a user has 128 by default.
	maxWatchers = 32
	// maxWatchedDirs is the limit per watch. The kernel's default limit for a user is 8192 or more.
	maxWatchedDirs = 8192
)

// fileEvent is one change. After "overflow" some changes were lost, and clients should read everything again.
type fileEvent struct {
	Type  string `json:"type"`
	Path  string `json:"path,omitempty"`
	IsDir bool   `json:"is_directory,omitempty"`
}

// watch streams the changes in a directory, or with recursive=true in everything below it. The first line has the type
// "ready"; changes after it are not missed.
func (h *Handler) watch(w http.ResponseWriter, r *http.Request, path string) error {
	recursive, err := api.Flag(r, "recursive")
	if err != nil {
		return err
	}
	beat, err := api.Beat(r)
	if err != nil {
		return err
	}
	select {
	case h.watches <- struct{}{}:
		defer func() { <-h.watches }()
	default:
		return api.Refuse(api.Exhausted, "Cannot watch %q: the limit of %d watches is reached", path, maxWatchers)
	}
	entry, err := h.locate("watch", path, confine.Lookup{})
	if err != nil {
		return notBelowFile(err)
	}
	defer entry.Close()
	observer, err := newObserver(r.Context(), h.root, recursive)
	if err != nil {
		return api.During("watch", path, err)
	}
	defer observer.close()
	if err := observer.add(entry); err != nil {
		return api.During("watch", path, err)
	}
	lines := api.NewLines(w)
	if err := lines.Send(fileEvent{Type: "ready"}); err != nil {
		return nil
	}
	defer lines.KeepAlive(beat, fileEvent{Type: "keepalive"})()
	_ = follow(r.Context(), observer, lines)
	return nil
}

func follow(ctx context.Context, observer *observer, lines *api.Lines) error {
	defer context.AfterFunc(ctx, observer.close)()
	for {
		events, err := observer.next()
		if err != nil {
			return err
		}
		for _, event := range events {
			if err := lines.Write(event); err != nil {
				return err
			}
		}
		if err := lines.Flush(); err != nil {
			return err
		}
	}
}

var errTooManyDirs = errors.New("too many directories to watch")

func eventType(mask uint32) string {
	switch {
	case mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		return "created"
	case mask&(unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF) != 0:
		return "deleted"
	case mask&(unix.IN_MODIFY|unix.IN_CLOSE_WRITE) != 0:
		return "modified"
	case mask&unix.IN_ATTRIB != 0:
		return "attributes"
	}
	return ""
}
