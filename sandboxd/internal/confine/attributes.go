package confine

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// Attributes returns the extended attributes whose names begin with a prefix, without the prefix. Links, and files of file systems without
// attributes, have none.
func (e *Entry) Attributes(prefix string) (map[string]string, error) {
	fd, err := e.Handle()
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readAttributes(fd, prefix)
}

// SetAttributes replaces these attributes.
func (e *Entry) SetAttributes(prefix string, attributes map[string]string) error {
	fd, err := e.Handle()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	before, err := readAttributes(fd, prefix)
	if err != nil {
		return err
	}
	for name, value := range attributes {
		if err := unix.Setxattr(DescriptorPath(fd), prefix+name, []byte(value), 0); err != nil {
			return err
		}
	}
	for name := range before {
		if _, kept := attributes[name]; kept {
			continue
		}
		if err := unix.Removexattr(DescriptorPath(fd), prefix+name); err != nil && !errors.Is(err, unix.ENODATA) {
			return err
		}
	}
	return nil
}

func readAttributes(fd int, prefix string) (map[string]string, error) {
	path := DescriptorPath(fd)
	found := map[string]string{}
	names, err := readSized(func(buffer []byte) (int, error) { return unix.Listxattr(path, buffer) })
	if errors.Is(err, unix.ENOTSUP) {
		return found, nil
	}
	if err != nil {
		return nil, err
	}
	for name := range strings.SplitSeq(names, "\x00") {
		key, matches := strings.CutPrefix(name, prefix)
		if !matches || key == "" {
			continue
		}
		value, err := readSized(func(buffer []byte) (int, error) { return unix.Getxattr(path, name, buffer) })
		// Removed in the meantime.
		if errors.Is(err, unix.ENODATA) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found[key] = value
	}
	return found, nil
}

// readSized asks for the size first: most files have no attributes. It asks again if there is more by then.
func readSized(read func([]byte) (int, error)) (string, error) {
	for {
		size, err := read(nil)
		if err != nil || size == 0 {
			return "", err
		}
		buffer := make([]byte, size)
		size, err = read(buffer)
		if errors.Is(err, unix.ERANGE) {
			continue
		}
		if err != nil {
			return "", err
		}
		return string(buffer[:size]), nil
	}
}
