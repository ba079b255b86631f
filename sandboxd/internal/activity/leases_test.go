package activity

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func names(l *Leases, now time.Time) string {
	var list []string
	for _, lease := range l.List(now) {
		list = append(list, lease.Name)
	}
	return strings.Join(list, " ")
}

func TestLeasesEndAndAreRenewed(t *testing.T) {
	var l Leases
	start := time.Unix(1000, 0)
	for _, name := range []string{"b", "a"} {
		if _, err := l.Renew(name, 10*time.Second, start); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Renew("a", 10*time.Second, start.Add(9*time.Second)); err != nil {
		t.Fatal(err)
	}
	for after, want := range map[time.Duration]string{0: "a b", 9999 * time.Millisecond: "a b", 10 * time.Second: "a", 19 * time.Second: ""} {
		copied := Leases{held: map[string]*grip{}}
		for name, grip := range l.held {
			copied.held[name] = grip
		}
		if got := names(&copied, start.Add(after)); got != want {
			t.Errorf("after %v there are %q, want %q", after, got, want)
		}
	}
}

func TestInvalidLeases(t *testing.T) {
	var l Leases
	now := time.Unix(1000, 0)
	for _, ttl := range []time.Duration{0, -1, MaxTTL + 1} {
		if _, err := l.Renew("x", ttl, now); err == nil {
			t.Errorf("a lease of %v is given", ttl)
		}
	}
	for _, name := range []string{"", strings.Repeat("n", maxNameBytes+1)} {
		if _, err := l.Renew(name, time.Second, now); err == nil {
			t.Errorf("a lease named %q is given", name)
		}
	}
	for i := range MaxLeases {
		if _, err := l.Renew(fmt.Sprint(i), time.Second, now); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Hold("one more", now); err == nil {
		t.Error("there is no bound")
	}
	// Expired leases do not count.
	if _, err := l.Hold("one more", now.Add(time.Second)); err != nil {
		t.Error(err)
	}
}

func TestAConnectionLetsGoOfItsOwnLeaseOnly(t *testing.T) {
	var l Leases
	now := time.Unix(1000, 0)
	letGo, err := l.Hold("job", now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Renew("job", time.Second, now); err == nil {
		t.Error("a held lease is given away")
	}
	if !l.Release("job") || l.Release("job") {
		t.Error("a lease is not given up once")
	}
	if _, err := l.Renew("job", time.Second, now); err != nil {
		t.Fatal(err)
	}
	letGo()
	if names(&l, now) != "job" {
		t.Error("the lease of another is gone")
	}
	again, err := l.Hold("job", now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	again()
	if names(&l, now) != "" {
		t.Error("the lease outlives its connection")
	}
}
