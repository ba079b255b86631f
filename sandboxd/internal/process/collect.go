package process

import (
	"bytes"
	"context"
	"errors"
	"io"
)

// Output is everything that a process wrote.
type Output struct {
	Stdout, Stderr []byte
	Truncated      bool
}

// ErrTooMuch is returned if a process wrote more than the limit.
var ErrTooMuch = errors.New("too much output")

// Collect reads the whole output. Beyond the limit it fails if strict, and drops the rest otherwise.
func Collect(ctx context.Context, reader *Reader, limit int, strict bool) (Output, error) {
	var stdout, stderr bytes.Buffer
	output := Output{}
	for {
		piece, err := reader.Next(ctx, 64<<10)
		if err != nil {
			output.Stdout, output.Stderr = stdout.Bytes(), stderr.Bytes()
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return output, err
		}
		room := limit - stdout.Len() - stderr.Len()
		if len(piece.Data) > room {
			if strict {
				return output, ErrTooMuch
			}
			piece.Data, output.Truncated = piece.Data[:room], true
		}
		if piece.Stream == Stderr {
			stderr.Write(piece.Data)
		} else {
			stdout.Write(piece.Data)
		}
	}
}
