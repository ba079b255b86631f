// Package activity knows whether a sandbox is at work.
package activity

import (
	"sync/atomic"
	"time"
)

// Tracker counts the streams that are open and remembers the last request.
type Tracker struct {
	streams atomic.Int64
	last    atomic.Int64
	Leases  Leases
}

// NewTracker counts the start of the sandbox as its first activity.
func NewTracker() *Tracker {
	t := &Tracker{}
	t.Touch()
	return t
}

// Touch notes a request.
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

// Streams is how many are open.
func (t *Tracker) Streams() int { return int(t.streams.Load()) }

// Last is when something was asked or a stream ended.
func (t *Tracker) Last() time.Time { return time.Unix(0, t.last.Load()) }
