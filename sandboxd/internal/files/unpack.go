package files

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net/http"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

// unpack extracts a tar stream, which may be compressed, into a directory. Each file is replaced atomically. Entries
// outside of the directory, by their name or through a link, are refused. Owners are not restored.
func (h *Handler) unpack(w http.ResponseWriter, r *http.Request, path string) error {
	top, err := h.locate("unpack", path, confine.Lookup{MakeParents: true})
	if err != nil {
		return err
	}
	defer top.Close()
	if err := top.Mkdir(0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return api.During("unpack", path, err)
	}
	body := bufio.NewReader(r.Body)
	stream := io.Reader(body)
	if magic, _ := body.Peek(2); string(magic) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return api.Refuse(api.InvalidArgument, "Cannot unpack into %q: %v", path, err)
		}
		stream = unzipped
	}
	inside, err := h.root.Below(top)
	if err != nil {
		return api.During("unpack", path, err)
	}
	defer inside.Close()
	if err := readArchive(stream, inside); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func readArchive(stream io.Reader, inside *confine.Root) error {
	archive := tar.NewReader(stream)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return api.Refuse(api.InvalidArgument, "Cannot unpack into %q: %v", inside.Path(), err)
		}
		if err := unpackOne(archive, header, inside); err != nil {
			return api.During("unpack", header.Name, err)
		}
	}
}

func unpackOne(archive io.Reader, header *tar.Header, inside *confine.Root) error {
	entry, err := member(inside, header.Name)
	if err != nil {
		return err
	}
	defer entry.Close()
	mode := uint32(header.Mode & 0o777)
	switch header.Typeflag {
	case tar.TypeDir:
		if entry.IsRoot() {
			return nil
		}
		if err := entry.Mkdir(mode | 0o700); err != nil && !isDirectory(entry) {
			return err
		}
		return nil
	case tar.TypeSymlink:
		return replaceLink(entry, header.Linkname)
	case tar.TypeLink:
		return hardLink(inside, header.Linkname, entry)
	case tar.TypeReg:
		return Store(entry, archive, mode, false)
	case tar.TypeXGlobalHeader:
		return nil
	}
	return api.Refuse(api.InvalidArgument, "Cannot unpack %q: only files, directories and links are supported", header.Name)
}

// member locates an archive's entry inside the target directory, also if the archive itself has created links.
func member(inside *confine.Root, name string) (*confine.Entry, error) {
	rel, err := confine.Join(name)
	if err != nil {
		return nil, err
	}
	return inside.Locate(rel, confine.Lookup{KeepLink: true, MakeParents: true})
}

func hardLink(inside *confine.Root, from string, to *confine.Entry) error {
	source, err := member(inside, from)
	if err != nil {
		return err
	}
	defer source.Close()
	err = source.Link(to)
	if errors.Is(err, unix.EEXIST) {
		if err = to.Remove(); err == nil {
			err = source.Link(to)
		}
	}
	return err
}

func isDirectory(entry *confine.Entry) bool {
	stat, err := entry.Stat()
	return err == nil && isKind(&stat, unix.S_IFDIR)
}
