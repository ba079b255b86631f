package process

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoStdin is returned if the process was started without standard input.
var ErrNoStdin = errors.New("the process has no standard input")

// stdin is the writing end of a pipe, or the controlling side of a terminal.
type stdin struct {
	file *os.File
	tty  bool
	// turn is a lock with one token, so that waiting for it can be cancelled.
	turn chan struct{}
}

func newStdin(file *os.File, tty bool) *stdin {
	return &stdin{file: file, tty: tty, turn: make(chan struct{}, 1)}
}

// write blocks while the process does not read, until the context ends.
func (s *stdin) write(ctx context.Context, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.file.SetWriteDeadline(time.Unix(1, 0)) })
	_, err := s.file.Write(data)
	if !stop() {
		_ = s.file.SetWriteDeadline(time.Time{})
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// eof ends the input: it closes a pipe, and types the end-of-transmission character on a terminal.
func (s *stdin) eof(ctx context.Context) error {
	if !s.tty {
		return s.file.Close()
	}
	return s.write(ctx, []byte{s.endOfTransmission()})
}

func (s *stdin) endOfTransmission() byte {
	const controlD = 4
	character := byte(controlD)
	raw, err := s.file.SyscallConn()
	if err != nil {
		return character
	}
	_ = raw.Control(func(fd uintptr) {
		if settings, err := unix.IoctlGetTermios(int(fd), unix.TCGETS); err == nil {
			character = settings.Cc[unix.VEOF]
		}
	})
	return character
}
