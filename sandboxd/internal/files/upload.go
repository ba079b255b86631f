package files

import (
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"path"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

// maxParts limits the names that are kept to find files that are uploaded twice.
const maxParts = 10_000

// upload writes the parts named "file" of a multipart body. With the query parameter path there is one file; otherwise the file name
// of each part is its path, relative to the query parameter base.
func (h *Handler) upload(w http.ResponseWriter, r *http.Request, _ string) error {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		return api.Refuse(api.InvalidArgument, "Cannot read the body: want multipart/form-data with a boundary")
	}
	written := []string{}
	seen := map[string]bool{}
	parts := multipart.NewReader(r.Body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return api.Refuse(api.InvalidArgument, "Cannot read the multipart body: %v", err)
		}
		if part.FormName() != "file" {
			continue
		}
		target, err := uploadTarget(r, part)
		if err != nil {
			return err
		}
		if seen[target] {
			return api.Refuse(api.InvalidArgument, "Cannot write %q: it is in the request twice", target)
		}
		if len(seen) >= maxParts {
			return api.Refuse(api.InvalidArgument, "Cannot write more than %d files in one request", maxParts)
		}
		if err := h.storePart(part, target); err != nil {
			return err
		}
		seen[target] = true
		written = append(written, target)
	}
	api.WriteJSON(w, http.StatusOK, map[string]any{"files": written})
	return nil
}

// uploadTarget returns the path of a part. Part.FileName would drop the directories.
func uploadTarget(r *http.Request, part *multipart.Part) (string, error) {
	if given := r.URL.Query().Get("path"); given != "" {
		return given, nil
	}
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	name := params["filename"]
	if err != nil || name == "" {
		return "", api.Refuse(api.InvalidArgument, "Cannot write a part without a file name")
	}
	if path.IsAbs(name) {
		return path.Clean(name), nil
	}
	return path.Join(r.URL.Query().Get("base"), name), nil
}

func (h *Handler) storePart(part *multipart.Part, target string) error {
	entry, err := h.locate("write", target, confine.Lookup{MakeParents: true})
	if err != nil {
		return err
	}
	defer entry.Close()
	stat, err := entry.Stat()
	if err == nil && isKind(&stat, unix.S_IFDIR) {
		return api.Refuse(api.InvalidArgument, "Cannot write %q: it is a directory", target)
	}
	if err := Store(entry, body{part}, ModeFor(entry), true); err != nil {
		return api.During("write", target, err)
	}
	return nil
}
