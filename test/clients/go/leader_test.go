package clients

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// candidate takes part in the election until it is stopped. leads is closed when it wins, stopped when it ends.
type candidate struct {
	stop    context.CancelFunc
	leads   chan struct{}
	stopped chan struct{}
}

func (c cluster) runCandidate(t *testing.T, name string, release bool) candidate {
	t.Helper()
	ctx, cancel := context.WithCancel(c.ctx)
	it := candidate{cancel, make(chan struct{}, 1), make(chan struct{}, 1)}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: "lead", Namespace: c.namespace},
			Client:     c.typed.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		LeaseDuration:   4 * time.Second,
		RenewDeadline:   3 * time.Second,
		RetryPeriod:     200 * time.Millisecond,
		ReleaseOnCancel: release,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { it.leads <- struct{}{} },
			OnStoppedLeading: func() {},
		},
	})
	must(t, err)
	go func() {
		elector.Run(ctx)
		it.stopped <- struct{}{}
	}()
	return it
}

func (c cluster) holder(t *testing.T) (string, int32) {
	t.Helper()
	lease, err := c.typed.CoordinationV1().Leases(c.namespace).Get(c.ctx, "lead", metav1.GetOptions{})
	must(t, err)
	return *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions
}

// awaitRenewal returns immediately after the holder has renewed the lease.
func (c cluster) awaitRenewal(t *testing.T) {
	t.Helper()
	renewed := func() time.Time {
		lease, err := c.typed.CoordinationV1().Leases(c.namespace).Get(c.ctx, "lead", metav1.GetOptions{})
		must(t, err)
		return lease.Spec.RenewTime.Time
	}
	for before := renewed(); renewed().Equal(before); {
		time.Sleep(5 * time.Millisecond)
	}
}

func TestLeadershipIsHandedOverOnRelease(t *testing.T) {
	c := connect(t)
	first := c.runCandidate(t, "first", true)
	receive(t, c, first.leads, "leadership of the first")
	second := c.runCandidate(t, "second", true)
	if holder, _ := c.holder(t); holder != "first" {
		t.Errorf("%q holds the lease", holder)
	}
	if len(second.leads) != 0 {
		t.Error("two candidates lead at once")
	}
	first.stop()
	receive(t, c, first.stopped, "end of the first")
	receive(t, c, second.leads, "leadership of the second")
	if holder, transitions := c.holder(t); holder != "second" || transitions < 1 {
		t.Errorf("%q holds the lease after %d transitions", holder, transitions)
	}
	// client-go cannot release a lease when a renewal was cancelled, so stop it between two renewals.
	c.awaitRenewal(t)
	second.stop()
	receive(t, c, second.stopped, "end of the second")
	if holder, _ := c.holder(t); holder != "" {
		t.Errorf("%q holds the lease that was released", holder)
	}
}

func TestLeadershipIsTakenFromExpiredHolder(t *testing.T) {
	c := connect(t)
	silent := c.runCandidate(t, "silent", false)
	receive(t, c, silent.leads, "leadership of the first")
	silent.stop()
	receive(t, c, silent.stopped, "end of the first")
	if holder, _ := c.holder(t); holder != "silent" {
		t.Errorf("%q holds the lease that nobody released", holder)
	}
	heir := c.runCandidate(t, "heir", true)
	receive(t, c, heir.leads, "leadership of the second")
	heir.stop()
	receive(t, c, heir.stopped, "end of the second")
}
