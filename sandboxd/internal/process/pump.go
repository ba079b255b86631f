package process

import (
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// pumpBytes is read at once: a quarter of a pipe, so a busy writer is woken seldom.
const pumpBytes = 16 << 10

// pump moves output from a pipe or terminal into the log until its end.
type pump struct {
	file   *os.File
	stream Stream
	// ended is closed at end-of-file.
	ended chan struct{}
	// discard drops what comes in from now on. Reading goes on, so that what still writes is not killed by a closed
	// pipe.
	discard atomic.Bool

	// moving is held from before a read until its bytes are in the log: with it held and nothing in the pipe,
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
			// A terminal reports the end as EIO.
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

// drained tells whether everything written so far is in the log. False also while a reader holds the log back.
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
