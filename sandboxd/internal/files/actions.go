package files

import (
	"errors"
	"net/http"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

type pathRequest struct {
	Path      string `json:"path"`
	Mode      string `json:"mode"`
	Recursive bool   `json:"recursive"`
}

type twoPathsRequest struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Replace allows to overwrite the target.
	Replace bool `json:"replace"`
}

// mkdir creates a directory and its parents. An existing directory is not an error.
func (h *Handler) mkdir(w http.ResponseWriter, r *http.Request, _ string) error {
	var request pathRequest
	if err := api.ReadJSON(w, r, &request); err != nil {
		return err
	}
	mode := uint32(0o755)
	if request.Mode != "" {
		given, err := parseMode(request.Mode)
		if err != nil {
			return err
		}
		mode = *given
	}
	entry, err := h.locate("make", request.Path, confine.Lookup{MakeParents: true})
	if err != nil {
		return err
	}
	defer entry.Close()
	err = entry.Mkdir(mode)
	if errors.Is(err, unix.EEXIST) {
		stat, statErr := entry.Stat()
		if statErr != nil || !isKind(&stat, unix.S_IFDIR) {
			return api.During("make", request.Path, err)
		}
	} else if err != nil {
		return api.During("make", request.Path, err)
	} else if err := entry.Chmod(mode); err != nil {
		// Mkdir alone would apply the umask.
		return api.During("make", request.Path, err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// chmod changes the mode of a file, or of a directory and everything in it.
func (h *Handler) chmod(w http.ResponseWriter, r *http.Request, _ string) error {
	var request pathRequest
	if err := api.ReadJSON(w, r, &request); err != nil {
		return err
	}
	mode, err := parseMode(request.Mode)
	if err != nil {
		return err
	}
	entry, err := h.locate("chmod", request.Path, confine.Lookup{})
	if err != nil {
		return notBelowFile(err)
	}
	defer entry.Close()
	if request.Recursive {
		// The content comes first, because the directory may not be readable afterwards.
		err = walk{ctx: r.Context(), after: func(entry *confine.Entry, stat *unix.Stat_t) error {
			if isKind(stat, unix.S_IFLNK) {
				return nil
			}
			return entry.Chmod(*mode)
		}}.below(entry)
	}
	if err == nil {
		err = entry.Chmod(*mode)
	}
	if err != nil {
		return api.During("chmod", request.Path, err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// places locates source and target of a move or copy. Links at either end are not followed.
func (h *Handler) places(w http.ResponseWriter, r *http.Request, action string) (from, to *confine.Entry, request twoPathsRequest, err error) {
	if err = api.ReadJSON(w, r, &request); err != nil {
		return
	}
	if from, err = h.locate(action, request.From, confine.Lookup{KeepLink: true}); err != nil {
		return nil, nil, request, notBelowFile(err)
	}
	if _, statErr := from.Stat(); statErr != nil {
		from.Close()
		return nil, nil, request, api.During(action, request.From, statErr)
	}
	if to, err = h.locate(action, request.To, confine.Lookup{KeepLink: true, MakeParents: true}); err != nil {
		from.Close()
		return nil, nil, request, err
	}
	if from.IsRoot() || to.IsRoot() {
		from.Close()
		to.Close()
		return nil, nil, request, api.Refuse(api.InvalidArgument, "Cannot %s %q to %q: neither may be the root directory", action, request.From, request.To)
	}
	return from, to, request, nil
}

// move renames a file. Between file systems it copies and deletes.
func (h *Handler) move(w http.ResponseWriter, r *http.Request, _ string) error {
	from, to, request, err := h.places(w, r, "move")
	if err != nil {
		return err
	}
	defer from.Close()
	defer to.Close()
	err = from.Rename(to, request.Replace)
	if errors.Is(err, unix.EXDEV) {
		if err = copyTree(r.Context(), from, to, request.Replace); err == nil {
			err = from.RemoveAll(r.Context())
		}
	}
	if err != nil {
		return api.During("move", request.To, err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// copy copies a file or a directory with its content.
func (h *Handler) copy(w http.ResponseWriter, r *http.Request, _ string) error {
	from, to, request, err := h.places(w, r, "copy")
	if err != nil {
		return err
	}
	defer from.Close()
	defer to.Close()
	if err := copyTree(r.Context(), from, to, request.Replace); err != nil {
		return api.During("copy", request.To, err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
