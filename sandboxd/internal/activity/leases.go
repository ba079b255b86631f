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
	mu sync.Mutex
	// A zero time means held by a connection.
	held map[string]time.Time
}

// Renew takes the lease or prolongs it.
func (l *Leases) Renew(name string, ttl time.Duration, now time.Time) (Lease, error) {
	if ttl <= 0 || ttl > MaxTTL {
		return Lease{}, fmt.Errorf("the time must be more than 0 and at most %v", MaxTTL)
	}
	expires := now.Add(ttl)
	if err := l.put(name, expires, now); err != nil {
		return Lease{}, err
	}
	return Lease{Name: name, ExpiresAt: &expires}, nil
}

// Hold takes the lease until it is released.
func (l *Leases) Hold(name string, now time.Time) error { return l.put(name, time.Time{}, now) }

func (l *Leases) put(name string, expires, now time.Time) error {
	if name == "" || len(name) > maxNameBytes {
		return fmt.Errorf("the name must have 1 to %d bytes", maxNameBytes)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expire(now)
	current, taken := l.held[name]
	if taken && current.IsZero() {
		return errors.New("a connection holds it")
	}
	if !taken && len(l.held) >= MaxLeases {
		return errTooMany
	}
	if l.held == nil {
		l.held = map[string]time.Time{}
	}
	l.held[name] = expires
	return nil
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
		if expires := l.held[name]; !expires.IsZero() {
			lease.ExpiresAt = &expires
		}
		list = append(list, lease)
	}
	return list
}

func (l *Leases) expire(now time.Time) {
	maps.DeleteFunc(l.held, func(_ string, expires time.Time) bool {
		return !expires.IsZero() && !now.Before(expires)
	})
}
