package files

import (
	"container/heap"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

const (
	// maxNameBytes limits the names that are held for sorting: about two million files.
	maxNameBytes = 64 << 20
	maxPage      = 100_000
	// nameCost is the size of a string header.
	nameCost = 16
)

// list serves a directory listing sorted by name. limit and after select a page.
func (h *Handler) list(w http.ResponseWriter, r *http.Request, path string, entry *confine.Entry) error {
	limit, err := api.Count(r, "limit", 0, maxPage)
	if err != nil {
		return err
	}
	names, more, err := sortedNames(entry, r.URL.Query().Get("after"), limit)
	if err != nil {
		return api.During("list", path, err)
	}
	w.Header().Set("Content-Type", "application/json")
	if more {
		w.Header().Set("X-More-Entries", "true")
	}
	if r.Method == http.MethodHead {
		return nil
	}
	return h.writeListing(w, path, entry, names)
}

// writeListing streams the listing, so that it is not held in memory in addition to the names.
func (h *Handler) writeListing(w io.Writer, path string, entry *confine.Entry, names []string) error {
	shown, err := json.Marshal("/" + path)
	if err != nil {
		return err
	}
	if _, err = w.Write(slices.Concat([]byte(`{"path":`), shown, []byte(`,"entries":[`))); err != nil {
		return nil
	}
	inside, err := entry.Child("")
	if err != nil {
		return err
	}
	defer inside.Close()
	separator := ""
	for _, name := range names {
		stat, ok := StatTarget(h.root, inside.Sibling(name))
		if !ok {
			continue
		}
		line, err := json.Marshal(newFileEntry(name, &stat))
		if err != nil {
			continue
		}
		if _, err := io.WriteString(w, separator+string(line)); err != nil {
			return nil
		}
		separator = ","
	}
	_, _ = io.WriteString(w, "]}")
	return nil
}

// StatTarget describes an entry, following links. It returns false if the link is dangling or leaves the root, or if the
// entry no longer exists.
func StatTarget(root *confine.Root, entry *confine.Entry) (unix.Stat_t, bool) {
	stat, err := entry.Stat()
	if err != nil || !isKind(&stat, unix.S_IFLNK) {
		return stat, err == nil
	}
	target, err := root.Locate(entry.Rel, confine.Lookup{})
	if err != nil {
		return stat, false
	}
	defer target.Close()
	stat, err = target.Stat()
	return stat, err == nil
}

// Names returns the sorted names in a directory, without temporary files.
func Names(entry *confine.Entry) ([]string, error) {
	names, _, err := sortedNames(entry, "", 0)
	return names, err
}

// sortedNames returns the names after a given one, at most limit of them if that is not 0, and whether there are more.
func sortedNames(entry *confine.Entry, after string, limit int) ([]string, bool, error) {
	dir, err := entry.Open(unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	kept, more := nameHeap{}, false
	bytes := 0
	err = eachName(dir, func(name string) error {
		if name <= after || confine.IsTemporary(name) {
			return nil
		}
		if limit > 0 {
			if heap.Push(&kept, name); len(kept) > limit {
				heap.Pop(&kept)
				more = true
			}
			return nil
		}
		kept = append(kept, name)
		if bytes += len(name) + nameCost; bytes > maxNameBytes {
			return api.Refuse(api.TooLarge, "Cannot list %q: too many names for one response; use limit and after", entry.Rel)
		}
		return nil
	})
	slices.Sort(kept)
	return kept, more, err
}

func eachName(dir *os.File, visit func(string) error) error {
	const batch = 1024
	for {
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if err := visit(name); err != nil {
				return err
			}
		}
		if err == io.EOF || len(names) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// nameHeap is a max-heap of names.
type nameHeap []string

func (h nameHeap) Len() int           { return len(h) }
func (h nameHeap) Less(i, j int) bool { return h[i] > h[j] }
func (h nameHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *nameHeap) Push(name any)     { *h = append(*h, name.(string)) }
func (h *nameHeap) Pop() any {
	last := len(*h) - 1
	name := (*h)[last]
	*h = (*h)[:last]
	return name
}
