package files

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// readBytes is what is read at once: kernels that are programs themselves (gVisor) are slow to ask.
	readBytes = 1 << 20
	// pieceBytes is the least that is taken for a hole.
	pieceBytes = 64 << 10
)

var zeros [pieceBytes]byte

// copySparse copies the parts of a file that hold something and makes the rest holes: a file of 10 GiB that holds
// nothing becomes one that holds nothing. What holds something is looked for in the content too, because not every file
// system tells where its holes are (gVisor's does not).
func copySparse(to, from *os.File) error {
	end, err := from.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if err := to.Truncate(end); err != nil {
		return err
	}
	buffer := make([]byte, readBytes)
	for at := int64(0); at < end; {
		data, hole := nextData(from, at, end)
		for at = data; at < hole; {
			n, err := copyNonZero(to, from, at, buffer[:min(readBytes, hole-at)])
			if err != nil {
				return err
			}
			if n == 0 {
				// It became shorter meanwhile.
				return nil
			}
			at += int64(n)
		}
	}
	return nil
}

// nextData finds the next part of a file that is not known to be a hole.
func nextData(from *os.File, at, end int64) (data, hole int64) {
	data, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return end, end
	}
	if err != nil {
		return at, end
	}
	if hole, err = unix.Seek(int(from.Fd()), data, unix.SEEK_HOLE); err != nil {
		hole = end
	}
	return data, hole
}

// copyNonZero copies those pieces of a part that are not zero, into a file that has its length already.
func copyNonZero(to, from *os.File, at int64, buffer []byte) (int, error) {
	n, err := from.ReadAt(buffer, at)
	if err != nil && err != io.EOF {
		return 0, err
	}
	for i := 0; i < n; i += pieceBytes {
		piece := buffer[i:min(i+pieceBytes, n)]
		if bytes.Equal(piece, zeros[:len(piece)]) {
			continue
		}
		if _, err := to.WriteAt(piece, at+int64(i)); err != nil {
			return 0, err
		}
	}
	return n, nil
}
