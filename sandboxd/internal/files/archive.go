package files

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

// pack serves a file or the content of a directory as a tar stream, compressed with gzip=true.
func (h *Handler) pack(w http.ResponseWriter, r *http.Request, path string) error {
	compressed, err := api.Flag(r, "gzip")
	if err != nil {
		return err
	}
	entry, err := h.locate("pack", path, confine.Lookup{})
	if err != nil {
		return notBelowFile(err)
	}
	defer entry.Close()
	stat, err := entry.Stat()
	if err != nil {
		return api.During("pack", path, err)
	}
	w.Header().Set("Content-Type", "application/x-tar")
	out := io.Writer(w)
	if compressed {
		w.Header().Set("Content-Type", "application/gzip")
		zip := gzip.NewWriter(w)
		defer zip.Close()
		out = zip
	}
	if err := writeArchive(r.Context(), out, entry, &stat); err != nil {
		// The status has been sent, so only a broken connection can signal that the archive is incomplete.
		panic(http.ErrAbortHandler)
	}
	return nil
}

func writeArchive(ctx context.Context, out io.Writer, top *confine.Entry, stat *unix.Stat_t) error {
	archive := tar.NewWriter(out)
	if !isKind(stat, unix.S_IFDIR) {
		if err := packOne(archive, top, stat, top.Name); err != nil {
			return err
		}
		return archive.Close()
	}
	prefix := top.Rel + "/"
	if top.IsRoot() {
		prefix = ""
	}
	err := walk{ctx: ctx, before: func(entry *confine.Entry, stat *unix.Stat_t) error {
		return packOne(archive, entry, stat, strings.TrimPrefix(entry.Rel, prefix))
	}}.below(top)
	if err != nil {
		return err
	}
	return archive.Close()
}

// packOne adds one entry. It skips sockets, FIFOs and devices, which cannot be restored.
func packOne(archive *tar.Writer, entry *confine.Entry, stat *unix.Stat_t, name string) error {
	header := &tar.Header{
		Name: name, Mode: int64(stat.Mode & 0o777), ModTime: modified(stat), Uid: int(stat.Uid), Gid: int(stat.Gid),
		Format: tar.FormatPAX,
	}
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		header.Typeflag, header.Name = tar.TypeDir, name+"/"
	case unix.S_IFLNK:
		target, err := entry.Readlink()
		if err != nil {
			return err
		}
		header.Typeflag, header.Linkname = tar.TypeSymlink, target
	case unix.S_IFREG:
		return packFile(archive, entry, header)
	default:
		return nil
	}
	return archive.WriteHeader(header)
}

func packFile(archive *tar.Writer, entry *confine.Entry, header *tar.Header) error {
	file, stat, err := OpenRegular(entry, entry.Rel)
	if err != nil {
		return err
	}
	defer file.Close()
	header.Typeflag, header.Size = tar.TypeReg, stat.Size
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	// If the file grows in the meantime, the rest is left out. If it shrinks, the archive is aborted.
	_, err = io.CopyN(archive, file, stat.Size)
	return err
}
