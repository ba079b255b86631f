package process

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"
)

// Stream is standard output or standard error.
type Stream uint8

const (
	Stdout Stream = iota
	Stderr
)

const (
	chunkBytes = 4096
	// chunkOverhead is counted for each chunk in addition to its bytes, so that many tiny chunks stay within the limit.
	chunkOverhead = 64
)

type chunk struct {
	stream Stream
	start  uint64
	// Append-only: bytes that a reader was given never change.
	data []byte
}

// Log keeps the latest output of one process. Offsets count all bytes from the start of the process.
//
// A blocking reader that is a whole log behind stops the writer, which then leaves the process's pipe full. Other readers
// that fall behind miss the dropped bytes, and Read reports how many.
type Log struct {
	limit int

	mu      sync.Mutex
	chunks  []chunk
	size    int
	next    uint64
	closed  bool
	readers map[*Reader]struct{}
	// unread is when the last reader left.
	unread time.Time
	// changed is closed and replaced at every change that readers or the writer wait for.
	changed chan struct{}
}

func newLog(limit int) *Log {
	return &Log{limit: limit, readers: map[*Reader]struct{}{}, changed: make(chan struct{})}
}

// Append adds output. It waits for blocking readers that are too far behind.
func (l *Log) Append(stream Stream, data []byte) {
	for len(data) > 0 {
		piece := data[:min(len(data), chunkBytes)]
		data = data[len(piece):]
		l.mu.Lock()
		for !l.closed && l.heldBack(len(piece)) {
			changed := l.changed
			l.mu.Unlock()
			<-changed
			l.mu.Lock()
		}
		if !l.closed {
			l.add(stream, piece)
		}
		l.mu.Unlock()
	}
}

func (l *Log) heldBack(more int) bool {
	for reader := range l.readers {
		if reader.blocking && l.size+more+chunkOverhead > l.limit && reader.at < l.keptAfter(more) {
			return true
		}
	}
	return false
}

// keptAfter returns the first offset that stays in the log after making room for more bytes.
func (l *Log) keptAfter(more int) uint64 {
	size := l.size + more + chunkOverhead
	for _, c := range l.chunks {
		if size <= l.limit {
			return c.start
		}
		size -= len(c.data) + chunkOverhead
	}
	return l.next
}

func (l *Log) add(stream Stream, piece []byte) {
	if last := len(l.chunks) - 1; last >= 0 && l.chunks[last].stream == stream && len(l.chunks[last].data)+len(piece) <= chunkBytes {
		l.chunks[last].data = append(l.chunks[last].data, piece...)
	} else {
		l.chunks = append(l.chunks, chunk{stream: stream, start: l.next, data: slices.Clone(piece)})
		l.size += chunkOverhead
	}
	l.size += len(piece)
	l.next += uint64(len(piece))
	drop := 0
	for l.size > l.limit && drop < len(l.chunks)-1 {
		l.size -= len(l.chunks[drop].data) + chunkOverhead
		drop++
	}
	l.chunks = slices.Delete(l.chunks, 0, drop)
	l.announce()
}

func (l *Log) announce() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Close ends the log. Readers get the rest and then io.EOF. Later output is dropped.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		l.announce()
	}
}

// Bounds returns the offset of the first byte in the log and that of the next byte to be appended.
func (l *Log) Bounds() (first, next uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.first(), l.next
}

// Readers returns the number of readers.
func (l *Log) Readers() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.readers)
}

// Unread returns how long the log has had no reader.
func (l *Log) Unread() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.readers) > 0 || l.unread.IsZero() {
		return 0
	}
	return time.Since(l.unread)
}

func (l *Log) first() uint64 {
	if len(l.chunks) == 0 {
		return l.next
	}
	return l.chunks[0].start
}

// Piece is a run of output of one stream, or a gap.
type Piece struct {
	Stream Stream
	Data   []byte
	// Lost is the length of a gap. A piece with a gap has no data.
	Lost uint64
	// Next is the offset after this piece.
	Next uint64
}

// Reader reads a log. It must be used by one goroutine.
type Reader struct {
	log      *Log
	at       uint64
	blocking bool
}

// Read returns a reader that starts at an offset. Beyond the end it starts at the end. The caller must close it.
func (l *Log) Read(from uint64, blocking bool) *Reader {
	l.mu.Lock()
	defer l.mu.Unlock()
	reader := &Reader{log: l, at: min(from, l.next), blocking: blocking}
	l.readers[reader] = struct{}{}
	return reader
}

// Close removes the reader. The writer no longer waits for it.
func (r *Reader) Close() {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	delete(r.log.readers, r)
	if len(r.log.readers) == 0 {
		r.log.unread = time.Now()
	}
	r.log.announce()
}

// Next waits for output and returns at most limit bytes. At the end of a closed log it returns io.EOF.
func (r *Reader) Next(ctx context.Context, limit int) (Piece, error) {
	for {
		r.log.mu.Lock()
		piece, ok := r.take(limit)
		closed, changed := r.log.closed, r.log.changed
		r.log.mu.Unlock()
		if ok {
			return piece, nil
		}
		if closed {
			return Piece{}, io.EOF
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Piece{}, context.Cause(ctx)
		}
	}
}

func (r *Reader) take(limit int) (Piece, bool) {
	l := r.log
	if first := l.first(); r.at < first {
		lost := first - r.at
		r.at = first
		return Piece{Lost: lost, Next: first}, true
	}
	if r.at == l.next {
		return Piece{}, false
	}
	i, exact := slices.BinarySearchFunc(l.chunks, r.at, func(c chunk, at uint64) int {
		return int(int64(c.start) - int64(at))
	})
	if !exact {
		i--
	}
	c := l.chunks[i]
	data := c.data[r.at-c.start:]
	data = data[:min(len(data), limit)]
	r.at += uint64(len(data))
	if r.blocking {
		l.announce()
	}
	return Piece{Stream: c.stream, Data: data, Next: r.at}, true
}
