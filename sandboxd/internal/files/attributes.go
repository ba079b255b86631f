package files

import (
	"errors"
	"net/http"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

const (
	// attributeNamespace is that of attributes which programs without privileges can set. Others decide what a file may do.
	attributeNamespace = "user."
	// The kernel's limits.
	maxAttributeName  = 255
	maxAttributeValue = 64 << 10
)

type attributesRequest struct {
	Path string `json:"path"`
	// Prefix is that of the attributes to replace, such as "user.app.".
	Prefix     string            `json:"prefix"`
	Attributes map[string]string `json:"attributes"`
}

// setAttributes replaces the extended attributes of a file whose names begin with a prefix.
func (h *Handler) setAttributes(w http.ResponseWriter, r *http.Request, _ string) error {
	var request attributesRequest
	if err := api.ReadJSON(w, r, &request); err != nil {
		return err
	}
	if err := checkPrefix(request.Prefix); err != nil {
		return err
	}
	for name, value := range request.Attributes {
		if name == "" || strings.Contains(name, "\x00") || len(request.Prefix)+len(name) > maxAttributeName || len(value) > maxAttributeValue {
			return api.Refuse(api.InvalidArgument, "Cannot set attribute %q: want a name of at most %d bytes with the prefix, without NUL characters, and a value of at most %d bytes", name, maxAttributeName, maxAttributeValue)
		}
	}
	entry, err := h.locate("set attributes of", request.Path, confine.Lookup{})
	if err != nil {
		return notBelowFile(err)
	}
	defer entry.Close()
	err = entry.SetAttributes(request.Prefix, request.Attributes)
	if errors.Is(err, unix.ENOTSUP) {
		return api.Refuse(api.FailedPrecondition, "Cannot set attributes of %q: its file system has none", request.Path)
	}
	if err != nil {
		return api.During("set attributes of", request.Path, err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// wantedAttributes returns the prefix in the parameter attributes, or "" without one.
func wantedAttributes(r *http.Request) (string, error) {
	prefix := r.URL.Query().Get("attributes")
	if prefix == "" {
		return "", nil
	}
	return prefix, checkPrefix(prefix)
}

func checkPrefix(prefix string) error {
	if !strings.HasPrefix(prefix, attributeNamespace) || prefix == attributeNamespace || strings.Contains(prefix, "\x00") {
		return api.Refuse(api.InvalidArgument, "Cannot use the prefix %q: want one such as user.app.", prefix)
	}
	return nil
}

// addAttributes adds them to the description of a file. A file that was removed in the meantime has none.
func addAttributes(info *fileInfo, entry *confine.Entry, prefix string) {
	if prefix == "" || info.Type == "symlink" {
		return
	}
	if found, err := entry.Attributes(prefix); err == nil && len(found) > 0 {
		info.Attributes = found
	}
}
