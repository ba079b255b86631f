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
	// MaxLeases limits the memory that a workload can use in the daemon.
	MaxLeases = 64
	// MaxTTL is the longest lifetime of a lease without renewal.
	MaxTTL       = 24 * time.Hour
	maxNameBytes = 128
)

var errTooMany = fmt.Errorf("the limit of %d leases is reached", MaxLeases)

// Lease keeps a sandbox awake.
type Lease struct {
	Name string `json:"name"`
	// ExpiresAt is nil while a connection holds the lease.
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

// Leases is a set of leases. The zero value is empty.
type Leases struct {
	mu   sync.Mutex
	held map[string]*grip
}

// grip is one acquisition of a lease. A zero time means that a connection holds it.
type grip struct{ expires time.Time }

// Renew acquires or extends a lease.
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

// Hold acquires a lease until the returned function is called. If the lease was released and acquired again in the
// meantime, the function does not release the new one.
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

// Release releases a lease. It returns false if it was not held.
func (l *Leases) Release(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.held[name]
	delete(l.held, name)
	return ok
}

// List returns the leases that are valid at a time, sorted by name.
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
