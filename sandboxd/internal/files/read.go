package files

import (
	"net/http"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

// get serves GET and HEAD of files and directories.
func (h *Handler) get(w http.ResponseWriter, r *http.Request, path string) error {
	entry, err := h.locate("read", path, confine.Lookup{})
	if err != nil {
		return notBelowFile(err)
	}
	defer entry.Close()
	stat, err := entry.Stat()
	if err != nil {
		return api.During("read", path, err)
	}
	if isKind(&stat, unix.S_IFDIR) {
		return h.list(w, r, path, entry)
	}
	file, stat, err := OpenRegular(entry, path)
	if err != nil {
		return err
	}
	defer file.Close()
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("ETag", ETag(&stat))
	header.Set("X-File-Mode", modeText(&stat))
	http.ServeContent(w, r, "", modified(&stat), file)
	return nil
}

// notBelowFile turns the error for a path below a regular file into NotFound, which is more useful to readers.
func notBelowFile(err error) error {
	if known, ok := err.(*api.Error); ok && known.Code == api.Conflict {
		return api.Refuse(api.NotFound, "%s", known.Message)
	}
	return err
}

// stat describes a file. With follow=false it describes a link itself.
func (h *Handler) stat(w http.ResponseWriter, r *http.Request, path string) error {
	follow := true
	if r.URL.Query().Has("follow") {
		var err error
		if follow, err = api.Flag(r, "follow"); err != nil {
			return err
		}
	}
	attributes, err := wantedAttributes(r)
	if err != nil {
		return err
	}
	entry, err := h.locate("stat", path, confine.Lookup{KeepLink: !follow})
	if err != nil {
		return notBelowFile(err)
	}
	defer entry.Close()
	info, err := describe(entry)
	if err != nil {
		return api.During("stat", path, err)
	}
	addAttributes(&info, entry, attributes)
	api.WriteJSON(w, http.StatusOK, info)
	return nil
}

func describe(entry *confine.Entry) (fileInfo, error) {
	stat, err := entry.Stat()
	if err != nil {
		return fileInfo{}, err
	}
	info := newFileInfo(entry.Rel, entry.Name, &stat)
	if isKind(&stat, unix.S_IFLNK) {
		info.Target, err = entry.Readlink()
	}
	return info, err
}
