// Package activity tracks whether a sandbox is in use.
package activity

import (
	"sync/atomic"
	"time"
)

// Tracker counts open streams and records the time of the last request.
type Tracker struct {
	streams atomic.Int64
	last    atomic.Int64
	Leases  Leases
}

// NewTracker returns a tracker. The start of the sandbox counts as its first activity.
func NewTracker() *Tracker {
	t := &Tracker{}
	t.Touch()
	return t
}

// Touch records a request.
func (t *Tracker) Touch() { t.last.Store(time.Now().UnixNano()) }

// Begin counts a stream until the returned function is called.
func (t *Tracker) Begin() (end func()) {
	t.streams.Add(1)
	t.Touch()
	return func() {
		t.Touch()
		t.streams.Add(-1)
	}
}

// Streams returns the number of open streams.
func (t *Tracker) Streams() int { return int(t.streams.Load()) }

// Last returns the time of the last request or end of a stream.
func (t *Tracker) Last() time.Time { return time.Unix(0, t.last.Load()) }
