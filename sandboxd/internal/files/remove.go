package files

import (
	"errors"
	"net/http"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

// delete serves DELETE. It removes links, never their targets.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request, path string) error {
	recursive, err := api.Flag(r, "recursive")
	if err != nil {
		return err
	}
	entry, err := h.locate("delete", path, confine.Lookup{KeepLink: true})
	if err != nil {
		return notBelowFile(err)
	}
	defer entry.Close()
	switch {
	case recursive:
		err = entry.RemoveAll(r.Context())
	case entry.IsRoot():
		return api.Refuse(api.Conflict, "Cannot delete the root directory; recursive=true empties it")
	default:
		err = entry.Remove()
	}
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return api.Refuse(api.Conflict, "Cannot delete %q: the directory is not empty; recursive=true deletes its content too", path)
	}
	if err != nil {
		return api.During("delete", path, err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
