package clients

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

const writes = 500

// notices records the events of an informer, one line each. Resyncs are recognised by their unchanged revision.
type notices struct {
	changes chan string
	resyncs chan string
}

func follow(t *testing.T, c cluster, informer cache.SharedInformer) notices {
	t.Helper()
	// Large enough that the informer never waits for the test.
	seen := notices{make(chan string, 2*writes), make(chan string, 2*writes)}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { seen.changes <- line("add", object) },
		UpdateFunc: func(before, after any) {
			if revision(before) == revision(after) {
				seen.resyncs <- line("resync", after)
			} else {
				seen.changes <- line("update", after)
			}
		},
		DeleteFunc: func(object any) { seen.changes <- line("delete", object) },
	})
	must(t, err)
	go informer.RunWithContext(c.ctx)
	if !cache.WaitForCacheSync(c.ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer did not become ready")
	}
	return seen
}

func revision(object any) string { return object.(metav1.Object).GetResourceVersion() }

// The revision of a deletion is only in the watch event.
func line(verb string, object any) string {
	meta := object.(metav1.Object)
	if verb == "delete" {
		return "delete " + meta.GetName()
	}
	return fmt.Sprintf("%s %s at %s", verb, meta.GetName(), meta.GetResourceVersion())
}

// writeAtRandom creates, updates and deletes twenty ConfigMaps, and returns the events that an informer must report.
func writeAtRandom(t *testing.T, c cluster) []string {
	t.Helper()
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	random := rand.New(rand.NewPCG(1, 2))
	alive := map[string]bool{}
	var lines []string
	for i := range writes {
		name := fmt.Sprintf("m-%d", random.IntN(20))
		wanted := c.configMap(name, map[string]string{"write": fmt.Sprint(i)})
		switch {
		case !alive[name]:
			created, err := maps.Create(c.ctx, wanted, metav1.CreateOptions{})
			must(t, err)
			alive[name] = true
			lines = append(lines, line("add", created))
		case random.IntN(3) == 0:
			must(t, maps.Delete(c.ctx, name, metav1.DeleteOptions{}))
			delete(alive, name)
			lines = append(lines, line("delete", wanted))
		default:
			updated, err := maps.Update(c.ctx, wanted, metav1.UpdateOptions{})
			must(t, err)
			lines = append(lines, line("update", updated))
		}
	}
	return lines
}

func TestInformerReceivesEveryChangeInOrder(t *testing.T) {
	for name, timeout := range map[string]int64{"one watch": 600, "a new watch each second": 1} {
		t.Run(name, func(t *testing.T) {
			c := connect(t)
			shorten := func(options *metav1.ListOptions) { options.TimeoutSeconds = &timeout }
			factory := informers.NewSharedInformerFactoryWithOptions(c.typed, 0,
				informers.WithNamespace(c.namespace), informers.WithTweakListOptions(shorten))
			seen := follow(t, c, factory.Core().V1().ConfigMaps().Informer())
			wanted := writeAtRandom(t, c)
			got := make([]string, 0, writes)
			for range wanted {
				got = append(got, receive(t, c, seen.changes, "change"))
			}
			if !slices.Equal(got, wanted) {
				t.Errorf("saw %v\nwanted %v", got, wanted)
			}
		})
	}
}

func TestInformerStartsFromListAndResyncs(t *testing.T) {
	c := connect(t)
	created, err := c.typed.CoreV1().ConfigMaps(c.namespace).Create(c.ctx, c.configMap("a", nil), metav1.CreateOptions{})
	must(t, err)
	factory := informers.NewSharedInformerFactoryWithOptions(c.typed, time.Second, informers.WithNamespace(c.namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	seen := follow(t, c, informer)
	if got := receive(t, c, seen.changes, "what was there"); got != line("add", created) {
		t.Errorf("saw %q", got)
	}
	for range 2 {
		if got := receive(t, c, seen.resyncs, "resync"); got != line("resync", created) {
			t.Errorf("resynced %q", got)
		}
	}
	if keys := informer.GetStore().ListKeys(); !slices.Equal(keys, []string{c.namespace + "/a"}) {
		t.Errorf("the cache has %v", keys)
	}
}

func TestDynamicInformerReceivesSandboxes(t *testing.T) {
	c := connect(t)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(c.dynamic, 0, c.namespace, nil)
	seen := follow(t, c, factory.ForResource(sandboxes).Informer())
	client := c.dynamic.Resource(sandboxes).Namespace(c.namespace)
	created, err := client.Create(c.ctx, c.sandbox("s", "busybox:1"), metav1.CreateOptions{})
	must(t, err)
	labelled := created.DeepCopy()
	labelled.SetLabels(map[string]string{"a": "b"})
	labelled, err = client.Update(c.ctx, labelled, metav1.UpdateOptions{})
	must(t, err)
	must(t, client.Delete(c.ctx, "s", metav1.DeleteOptions{}))
	for _, wanted := range []string{line("add", created), line("update", labelled), line("delete", labelled)} {
		if got := receive(t, c, seen.changes, wanted); got != wanted {
			t.Errorf("saw %q, wanted %q", got, wanted)
		}
	}
}
