package activity

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// MaxLeases at once, so that a workload cannot fill the daemon's memory.
	MaxLeases = 64
	// MaxTTL is the longest a lease holds without being renewed.
	MaxTTL       = 24 * time.Hour
	maxNameBytes = 128
)

var errTooMany = fmt.Errorf("%d leases are held already", MaxLeases)

// Lease keeps a sandbox awake.
type Lease struct {
	Name string `json:"name"`
	// ExpiresAt is absent while a connection holds the lease.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// Leases are the ones in force. The zero value has none.
type Leases struct {
	mu   sync.Mutex
	held map[string]*grip
}

// grip is one taking of a lease. A zero time means that a connection holds it.
type grip struct{ expires time.Time }

// Renew takes the lease or prolongs it.
func (l *Leases) Renew(name string, ttl time.Duration, now time.Time) (Lease, error) {
	if ttl <= 0 || ttl > MaxTTL {
		return Lease{}, fmt.Errorf("the time must be more than 0 and at most %v", MaxTTL)
	}
	expires := now.Add(ttl)
	if _, err := l.put(name, expires, now); err != nil {
		return Lease{}, err
	}
	return Lease{Name: name, ExpiresAt: &expires}, nil
}

// Hold takes the lease until the returned function is called. Another lease that somebody took under the same name
// meanwhile, because this one was given up, stays theirs.
func (l *Leases) Hold(name string, now time.Time) (letGo func(), err error) {
	own, err := l.put(name, time.Time{}, now)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.held[name] == own {
			delete(l.held, name)
		}
	}, err
}

func (l *Leases) put(name string, expires, now time.Time) (*grip, error) {
	if name == "" || len(name) > maxNameBytes {
		return nil, fmt.Errorf("the name must have 1 to %d bytes", maxNameBytes)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	current, taken := l.held[name]
	if taken && current.expires.IsZero() {
		return nil, errors.New("a connection holds it")
	}
	if !taken && len(l.held) >= MaxLeases {
		return nil, errTooMany
	}
	if l.held == nil {
		l.held = map[string]*grip{}
	}
	own := &grip{expires}
	l.held[name] = own
	return own, nil
}

// Release gives the lease up; false when it was not held.
func (l *Leases) Release(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.held[name]
	delete(l.held, name)
	return ok
}

// List gives the leases in force at a time, by name.
func (l *Leases) List(now time.Time) []Lease {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	list := make([]Lease, 0, len(l.held))
	for _, name := range slices.Sorted(maps.Keys(l.held)) {
		lease := Lease{Name: name}
		if expires := l.held[name].expires; !expires.IsZero() {
			lease.ExpiresAt = &expires
		}
		list = append(list, lease)
	}
	return list
}

func (l *Leases) expire(now time.Time) {
	maps.DeleteFunc(l.held, func(_ string, grip *grip) bool {
		return !grip.expires.IsZero() && !now.Before(grip.expires)
	})
}
