package api

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// The shortest and the longest interval that a client can ask for. No proxy waits an hour for the next byte.
const minBeat, maxBeat = time.Second, time.Hour

// Lines is a response of JSON values, one per line. It can be used by several goroutines.
type Lines struct {
	mu      sync.Mutex
	w       http.ResponseWriter
	control *http.ResponseController
	// quiet is restarted by every line. Nil without a beat.
	quiet *time.Timer
	every time.Duration
}

// NewLines starts the response.
func NewLines(w http.ResponseWriter) *Lines {
	w.Header().Set("Content-Type", "application/x-ndjson")
	// Proxies must not buffer the lines.
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	return &Lines{w: w, control: http.NewResponseController(w)}
}

// Write adds a line without flushing it.
func (l *Lines) Write(value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.quiet != nil {
		l.quiet.Reset(l.every)
	}
	_, err = l.w.Write(append(line, '\n'))
	return err
}

// Flush sends the lines written so far.
func (l *Lines) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.control.Flush()
}

// Beat returns the interval in the query parameter keepalive, 0 without one.
func Beat(r *http.Request) (time.Duration, error) {
	beat, err := Seconds(r, "keepalive", 0, maxBeat)
	if err == nil && beat > 0 && beat < minBeat {
		return 0, Refuse(InvalidArgument, "Cannot use keepalive=%q: want at least %v", r.URL.Query().Get("keepalive"), minBeat)
	}
	return beat, err
}

// KeepAlive sends a value whenever nothing was sent for an interval, because proxies end responses that are silent. With 0 it does
// nothing. The returned function ends it, and must be called before the handler returns.
func (l *Lines) KeepAlive(every time.Duration, value any) func() {
	if every <= 0 {
		return func() {}
	}
	l.mu.Lock()
	l.every, l.quiet = every, time.NewTimer(every)
	l.mu.Unlock()
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-l.quiet.C:
				if l.Send(value) != nil {
					return
				}
			case <-stopping:
				return
			}
		}
	}()
	return func() {
		close(stopping)
		<-stopped
	}
}

// Send writes a line and flushes it.
func (l *Lines) Send(value any) error {
	if err := l.Write(value); err != nil {
		return err
	}
	return l.Flush()
}
