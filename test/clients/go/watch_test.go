package clients

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"
)

func TestWatchSendsBookmarks(t *testing.T) {
	c := connect(t)
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	listed, err := maps.List(c.ctx, metav1.ListOptions{})
	must(t, err)
	options := metav1.ListOptions{ResourceVersion: listed.ResourceVersion, AllowWatchBookmarks: true}
	watching, err := maps.Watch(c.ctx, options)
	must(t, err)
	defer watching.Stop()
	_, err = maps.Create(c.ctx, c.configMap("a", nil), metav1.CreateOptions{})
	must(t, err)
	// A bookmark may be sent at any time. Wait for one after the event.
	added, bookmark := false, watch.Event{}
	for !added || bookmark.Type != watch.Bookmark {
		event := receive(t, c, watching.ResultChan(), "event, then a bookmark")
		added = added || event.Type == watch.Added
		if added {
			bookmark = event
		}
	}
	marked, isMap := bookmark.Object.(*corev1.ConfigMap)
	if !isMap || marked.Name != "" || marked.ResourceVersion == "" {
		t.Fatalf("the bookmark is %+v", bookmark)
	}
	// Events before the bookmark must not be repeated.
	after, err := maps.Watch(c.ctx, metav1.ListOptions{ResourceVersion: marked.ResourceVersion})
	must(t, err)
	defer after.Stop()
	must(t, maps.Delete(c.ctx, "a", metav1.DeleteOptions{}))
	deleted := receive(t, c, after.ResultChan(), "deletion")
	if deleted.Type != watch.Deleted {
		t.Errorf("the event after the bookmark is %+v", deleted)
	}
}

func TestWatchEndsAtTimeoutAndResumes(t *testing.T) {
	c := connect(t)
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	listed, err := maps.List(c.ctx, metav1.ListOptions{})
	must(t, err)
	second := int64(1)
	shorten := &cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.TimeoutSeconds = &second
		return maps.Watch(ctx, options)
	}}
	one, err := shorten.WatchFuncWithContext(c.ctx, metav1.ListOptions{})
	must(t, err)
	select {
	case event, open := <-one.ResultChan():
		if open {
			t.Fatalf("a watch of an empty collection sent %+v", event)
		}
	case <-c.ctx.Done():
		t.Fatal("the watch did not end")
	}
	watching, err := watchtools.NewRetryWatcherWithContext(c.ctx, listed.ResourceVersion, shorten)
	must(t, err)
	defer watching.Stop()
	for i := range 3 {
		name := fmt.Sprintf("m-%d", i)
		_, err := maps.Create(c.ctx, c.configMap(name, nil), metav1.CreateOptions{})
		must(t, err)
		event := receive(t, c, watching.ResultChan(), name)
		if event.Type != watch.Added || event.Object.(metav1.Object).GetName() != name {
			t.Errorf("saw %+v, wanted %s", event, name)
		}
		// When a watch of one second, started after the event, has ended, the retrying watch has restarted.
		pause, err := shorten.WatchFuncWithContext(c.ctx, metav1.ListOptions{ResourceVersion: revision(event.Object)})
		must(t, err)
		for range pause.ResultChan() {
			t.Error("an event came twice")
		}
	}
}

func TestStreamedListEndsWithItsBookmark(t *testing.T) {
	c := connect(t)
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	for _, name := range []string{"a", "b"} {
		_, err := maps.Create(c.ctx, c.configMap(name, nil), metav1.CreateOptions{})
		must(t, err)
	}
	yes := true
	watching, err := maps.Watch(c.ctx, metav1.ListOptions{
		SendInitialEvents:    &yes,
		AllowWatchBookmarks:  true,
		ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	must(t, err)
	defer watching.Stop()
	for _, name := range []string{"a", "b"} {
		event := receive(t, c, watching.ResultChan(), name)
		if event.Type != watch.Added || event.Object.(metav1.Object).GetName() != name {
			t.Errorf("saw %+v, wanted %s", event, name)
		}
	}
	end := receive(t, c, watching.ResultChan(), "end of the list")
	if end.Type != watch.Bookmark || end.Object.(metav1.Object).GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("the list ended with %+v", end)
	}
}

func TestPaginatedLists(t *testing.T) {
	c := connect(t)
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	var wanted []string
	for i := range 25 {
		name := fmt.Sprintf("m-%02d", i)
		_, err := maps.Create(c.ctx, c.configMap(name, nil), metav1.CreateOptions{})
		must(t, err)
		wanted = append(wanted, name)
	}

	first, err := maps.List(c.ctx, metav1.ListOptions{Limit: 10})
	must(t, err)
	if len(first.Items) != 10 || first.RemainingItemCount == nil || *first.RemainingItemCount != 15 {
		t.Errorf("the first page has %d, and %v are left", len(first.Items), first.RemainingItemCount)
	}
	// All pages are from one revision: later writes are not included.
	must(t, maps.Delete(c.ctx, "m-24", metav1.DeleteOptions{}))
	second, err := maps.List(c.ctx, metav1.ListOptions{Limit: 10, Continue: first.Continue})
	must(t, err)
	third, err := maps.List(c.ctx, metav1.ListOptions{Limit: 10, Continue: second.Continue})
	must(t, err)
	var names []string
	for _, page := range [][]corev1.ConfigMap{first.Items, second.Items, third.Items} {
		for _, item := range page {
			names = append(names, item.Name)
		}
	}
	if !slices.Equal(names, wanted) || third.Continue != "" || third.ResourceVersion != first.ResourceVersion {
		t.Errorf("read %v at %s and %s", names, first.ResourceVersion, third.ResourceVersion)
	}
	_, err = maps.List(c.ctx, metav1.ListOptions{Limit: 10, Continue: "nonsense"})
	refused(t, apierrors.IsBadRequest, err)

	pages := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return maps.List(ctx, options)
	})
	pages.PageSize = 7
	count := 0
	must(t, pages.EachListItem(c.ctx, metav1.ListOptions{}, func(runtime.Object) error { count++; return nil }))
	if count != 24 {
		t.Errorf("the pager read %d", count)
	}
}
