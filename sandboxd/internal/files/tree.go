package files

import (
	"errors"
	"net/http"
	"path"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

const maxTreeLimit = 10_000_000

var errEnough = errors.New("enough")

// tree streams everything below a directory, one line per entry. depth, limit and match restrict it; attributes adds
// extended attributes with that prefix. An error after the
// first line is reported in a last line.
func (h *Handler) tree(w http.ResponseWriter, r *http.Request, where string) error {
	depth, err := api.Count(r, "depth", 0, maxDepth)
	if err != nil {
		return err
	}
	limit, err := api.Count(r, "limit", maxTreeLimit, maxTreeLimit)
	if err != nil {
		return err
	}
	attributes, err := wantedAttributes(r)
	if err != nil {
		return err
	}
	pattern := r.URL.Query().Get("match")
	if _, err := path.Match(pattern, ""); err != nil {
		return api.Refuse(api.InvalidArgument, "Cannot use match=%q: %v", pattern, err)
	}
	entry, err := h.locate("list", where, confine.Lookup{})
	if err != nil {
		return notBelowFile(err)
	}
	defer entry.Close()
	if stat, err := entry.Stat(); err != nil || !isKind(&stat, unix.S_IFDIR) {
		if err == nil {
			err = unix.ENOTDIR
		}
		return api.During("list", where, err)
	}
	lines := api.NewLines(w)
	err = walk{ctx: r.Context(), depth: depth, before: func(entry *confine.Entry, stat *unix.Stat_t) error {
		if matched, _ := path.Match(pattern, entry.Name); pattern != "" && !matched {
			return nil
		}
		if limit--; limit < 0 {
			return errEnough
		}
		info := newFileInfo(entry.Rel, entry.Name, stat)
		if isKind(stat, unix.S_IFLNK) {
			info.Target, _ = entry.Readlink()
		}
		addAttributes(&info, entry, attributes)
		return lines.Write(info)
	}}.below(entry)
	if err != nil && !errors.Is(err, errEnough) {
		_ = lines.Write(map[string]any{"error": api.During("list", where, err)})
	}
	return nil
}
