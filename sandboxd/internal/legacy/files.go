package legacy

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/files"
)

// locate resolves a path below the base directory. Leading slashes are removed first, so that "/../x" is refused like "../x".
func (h *Handler) locate(name string, how confine.Lookup) (*confine.Root, *confine.Entry, error) {
	rel, err := confine.Join(strings.TrimLeft(name, "/"))
	if err != nil {
		return nil, nil, err
	}
	base, err := h.base()
	if err != nil {
		return nil, nil, err
	}
	entry, err := base.Locate(rel, how)
	if err != nil {
		base.Close()
		return nil, nil, err
	}
	return base, entry, nil
}

func denied(err error) bool {
	return errors.Is(err, confine.ErrOutside) || errors.Is(err, unix.ELOOP)
}

func (h *Handler) download(w http.ResponseWriter, r *http.Request, name string) {
	base, entry, err := h.locate(name, confine.Lookup{})
	if denied(err) {
		message(w, http.StatusForbidden, "Access denied")
		return
	}
	if err != nil {
		message(w, http.StatusNotFound, "File not found")
		return
	}
	defer base.Close()
	defer entry.Close()
	file, stat, err := files.OpenRegular(entry, name)
	if err != nil {
		message(w, http.StatusNotFound, "File not found")
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		message(w, http.StatusNotFound, "File not found")
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Disposition", disposition(path.Base(name)))
	header.Set("ETag", files.ETag(&stat))
	http.ServeContent(w, r, "", info.ModTime(), file)
}

func disposition(name string) string {
	if encoded := url.PathEscape(name); encoded != name {
		return "attachment; filename*=utf-8''" + encoded
	}
	return fmt.Sprintf("attachment; filename=%q", name)
}

type listEntry struct {
	Name    string  `json:"name"`
	Size    int64   `json:"size"`
	Type    string  `json:"type"`
	ModTime float64 `json:"mod_time"`
}

// list omits links that are dangling or leave the base directory.
func (h *Handler) list(w http.ResponseWriter, _ *http.Request, name string) {
	base, entry, err := h.locate(name, confine.Lookup{})
	if denied(err) {
		message(w, http.StatusForbidden, "Access denied")
		return
	}
	if err != nil {
		message(w, http.StatusNotFound, "Path is not a directory")
		return
	}
	defer base.Close()
	defer entry.Close()
	names, err := files.Names(entry)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENXIO) {
		message(w, http.StatusNotFound, "Path is not a directory")
		return
	}
	inside, childErr := entry.Child("")
	if err = errors.Join(err, childErr); err != nil {
		message(w, http.StatusInternalServerError, "List files failed: "+err.Error())
		return
	}
	defer inside.Close()
	entries := make([]listEntry, 0, len(names))
	for _, name := range names {
		if stat, ok := files.StatTarget(base, inside.Sibling(name)); ok {
			entries = append(entries, newListEntry(name, &stat))
		}
	}
	write(w, http.StatusOK, entries)
}

func newListEntry(name string, stat *unix.Stat_t) listEntry {
	kind := "file"
	if stat.Mode&unix.S_IFMT == unix.S_IFDIR {
		kind = "directory"
	}
	return listEntry{Name: name, Size: stat.Size, Type: kind, ModTime: float64(stat.Mtim.Sec) + float64(stat.Mtim.Nsec)*1e-9}
}

func (h *Handler) exists(w http.ResponseWriter, _ *http.Request, name string) {
	base, entry, err := h.locate(name, confine.Lookup{})
	if denied(err) {
		message(w, http.StatusForbidden, "Access denied")
		return
	}
	found := false
	if err == nil {
		_, err = entry.Stat()
		found = err == nil
		entry.Close()
		base.Close()
	}
	write(w, http.StatusOK, struct {
		Path   string `json:"path"`
		Exists bool   `json:"exists"`
	}{name, found})
}

// upload writes the part named "file" to the path in its filename atomically.
func (h *Handler) upload(w http.ResponseWriter, r *http.Request, _ string) {
	missing := []complaint{{Type: "missing", Where: []any{"body", "file"}, What: "Field required"}}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" || params["boundary"] == "" {
		detail(w, http.StatusUnprocessableEntity, missing)
		return
	}
	parts := multipart.NewReader(r.Body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err != nil {
			detail(w, http.StatusUnprocessableEntity, missing)
			return
		}
		if part.FormName() != "file" {
			continue
		}
		// Part.FileName would remove the directories.
		_, fields, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		if fields["filename"] == "" {
			detail(w, http.StatusUnprocessableEntity, missing)
			return
		}
		h.store(w, fields["filename"], part)
		return
	}
}

func (h *Handler) store(w http.ResponseWriter, name string, content io.Reader) {
	base, entry, err := h.locate(name, confine.Lookup{MakeParents: true})
	if denied(err) {
		message(w, http.StatusForbidden, "Access denied")
		return
	}
	if err == nil {
		defer base.Close()
		defer entry.Close()
		err = files.Store(entry, content, files.ModeFor(entry), false)
	}
	if err != nil {
		message(w, http.StatusInternalServerError, "File upload failed: "+err.Error())
		return
	}
	message(w, http.StatusOK, fmt.Sprintf("File '%s' uploaded successfully.", name))
}
