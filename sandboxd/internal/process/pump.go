package process

import (
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// pumpBytes is the size of a read: a quarter of a pipe, so that a busy writer is rarely woken.
const pumpBytes = 16 << 10

// pump copies output from a pipe or terminal into the log.
type pump struct {
	file   *os.File
	stream Stream
	// ended is closed at end-of-file.
	ended chan struct{}
	// discard drops further output. Reading continues, so that processes that still write are not killed by SIGPIPE.
	discard atomic.Bool

	// moving is held from before a read until its bytes are in the log. So if it can be locked and the pipe is empty,
	// everything written before is in the log.
	moving sync.Mutex
}

func startPump(file *os.File, stream Stream, log *Log) *pump {
	p := &pump{file: file, stream: stream, ended: make(chan struct{})}
	go p.run(log)
	return p
}

func (p *pump) run(log *Log) {
	defer close(p.ended)
	defer p.file.Close()
	raw, err := p.file.SyscallConn()
	if err != nil {
		return
	}
	buffer := make([]byte, pumpBytes)
	for open := true; open; {
		err := raw.Read(func(fd uintptr) bool {
			p.moving.Lock()
			defer p.moving.Unlock()
			n, err := unix.Read(int(fd), buffer)
			if err == unix.EAGAIN || err == unix.EINTR {
				return err == unix.EINTR
			}
			// A terminal reports its end as EIO.
			if n <= 0 {
				open = false
				return true
			}
			if !p.discard.Load() {
				log.Append(p.stream, buffer[:n])
			}
			return true
		})
		if err != nil {
			return
		}
	}
}

// drained reports whether everything written so far is in the log. It is false while a reader blocks the log.
func (p *pump) drained() bool {
	select {
	case <-p.ended:
		return true
	default:
	}
	if !p.moving.TryLock() {
		return false
	}
	defer p.moving.Unlock()
	waiting := 0
	raw, err := p.file.SyscallConn()
	if err != nil {
		return true
	}
	_ = raw.Control(func(fd uintptr) { waiting, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return waiting == 0
}
