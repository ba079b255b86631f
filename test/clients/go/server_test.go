package clients

import (
	"strconv"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/util/retry"
)

func TestDiscoveryFindsOurKinds(t *testing.T) {
	c := connect(t)
	client := discovery.NewDiscoveryClientForConfigOrDie(c.config)
	_, lists, err := client.ServerGroupsAndResources()
	must(t, err)
	kinds := map[string]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			kinds[list.GroupVersion+" "+resource.Kind] = true
		}
	}
	for _, wanted := range []string{
		"v1 Pod",
		"coordination.k8s.io/v1 Lease",
		"agents.x-k8s.io/v1beta1 Sandbox",
		"extensions.agents.x-k8s.io/v1beta1 SandboxTemplate",
		"extensions.agents.x-k8s.io/v1beta1 SandboxClaim",
		"extensions.agents.x-k8s.io/v1beta1 SandboxWarmPool",
	} {
		if !kinds[wanted] {
			t.Errorf("%s is not found", wanted)
		}
	}
}

func TestRetryOnConflictLosesNoWrite(t *testing.T) {
	const writers, each = 8, 10
	c := connect(t)
	maps := c.typed.CoreV1().ConfigMaps(c.namespace)
	_, err := maps.Create(c.ctx, c.configMap("a", map[string]string{"count": "0"}), metav1.CreateOptions{})
	must(t, err)
	// Eight writers conflict more often than the default of five retries allows.
	backoff := retry.DefaultBackoff
	backoff.Steps = 100
	backoff.Cap = 0
	backoff.Factor = 1
	increment := func() error {
		current, err := maps.Get(c.ctx, "a", metav1.GetOptions{})
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(current.Data["count"])
		if err != nil {
			return err
		}
		current.Data["count"] = strconv.Itoa(count + 1)
		_, err = maps.Update(c.ctx, current, metav1.UpdateOptions{})
		return err
	}
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range each {
				if err := retry.RetryOnConflict(backoff, increment); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	end, err := maps.Get(c.ctx, "a", metav1.GetOptions{})
	must(t, err)
	if end.Data["count"] != strconv.Itoa(writers*each) {
		t.Errorf("counted %s, wanted %d", end.Data["count"], writers*each)
	}
}
