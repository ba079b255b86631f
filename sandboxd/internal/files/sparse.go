package files

import (
	"bytes"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// readBytes is the size of a read. It is large because system calls are slow in gVisor.
	readBytes = 1 << 20
	// pieceBytes is the smallest hole.
	pieceBytes = 64 << 10
)

var zeros [pieceBytes]byte

// copySparse copies a file and keeps its holes. Blocks of zeros become holes too, because not every file system reports
// where its holes are (gVisor's does not).
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
				// The file was truncated in the meantime.
				return nil
			}
			at += int64(n)
		}
	}
	return nil
}

// nextData finds the next range of a file that is not known to be a hole.
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

// copyNonZero copies the pieces of a range that are not zero. The target already has its final size.
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
