package sandbox

import (
	"fmt"
	"maps"
	"time"
)

// Depth is what a suspension keeps.
type Depth string

// The depths, each with more than the one before.
const (
	DepthVolumes    Depth = "Volumes"
	DepthFilesystem Depth = "Filesystem"
	DepthMemory     Depth = "Memory"
)

// CreateOptions says what a new sandbox is made of. Set exactly one of Image, Pool, Template and Snapshot.
type CreateOptions struct {
	// Image is a container image. "host" is the machine's own programs, on a box.
	Image string
	// Pool is a SandboxWarmPool: one of its members, or a new sandbox of its template.
	Pool string
	// Template is a SandboxTemplate. A pool of this template is used if there is one.
	Template string
	// Snapshot is a SandboxSnapshot: the sandbox continues from there.
	Snapshot string

	// Name. Default: "sandbox-" and random characters.
	Name      string
	Namespace string
	Labels    map[string]string
	Env       map[string]string
	// Lifetime after which the sandbox is deleted.
	Lifetime time.Duration
	// Timeout until the sandbox can be used. Default: three minutes.
	Timeout time.Duration
	// RequestID makes a create that another process repeats return the same sandbox. Needs a Name.
	RequestID string

	// Only with Image: the program of the sandbox. Default: none, the sandbox waits for commands.
	Command []string
	// Only with Image: for example "gvisor" or "runc".
	RuntimeClass string
	// Only with Image: limits, as Kubernetes quantities such as "500m" and "1Gi".
	CPU, Memory string
	// Only with Image: suspends the sandbox after this time without activity.
	SuspendAfter time.Duration
	// Only with Image: what a suspension keeps.
	SuspendDepth Depth
}

const (
	requestIDAnnotation      = "sdk.agents.x-k8s.io/request-id"
	firstRequestedAnnotation = "agents.x-k8s.io/client-first-requested-at"
	traceAnnotation          = "opentelemetry.io/trace-context"
	podNameAnnotation        = "agents.x-k8s.io/pod-name"
	createdByLabel           = "agents.x-k8s.io/created-by"
	lifecycleTimeout         = 3 * time.Minute
)

// check returns an error if the options contradict each other.
func (o CreateOptions) check() error {
	var named []string
	for _, source := range []struct{ name, value string }{{"Image", o.Image}, {"Pool", o.Pool}, {"Template", o.Template}, {"Snapshot", o.Snapshot}} {
		if source.value != "" {
			named = append(named, source.name)
		}
	}
	if len(named) != 1 {
		return failf(InvalidArgument, "Cannot create a sandbox: set one of Image, Pool, Template and Snapshot; %d of them are set", len(named))
	}
	imageOnly := o.Command != nil || o.RuntimeClass != "" || o.CPU != "" || o.Memory != "" || o.SuspendAfter != 0 || o.SuspendDepth != ""
	if imageOnly && o.Image == "" {
		return failf(InvalidArgument, "Cannot create a sandbox: Command, RuntimeClass, CPU, Memory, SuspendAfter and SuspendDepth can be used with Image only")
	}
	if o.Snapshot != "" && o.Env != nil {
		return failf(InvalidArgument, "Cannot create a sandbox: Env cannot be changed in a snapshot")
	}
	if o.Lifetime < 0 {
		return failf(InvalidArgument, "Cannot create a sandbox: Lifetime is %v instead of a positive duration", o.Lifetime)
	}
	return nil
}

func (o CreateOptions) metadata() metadata {
	labels := map[string]string{}
	maps.Copy(labels, o.Labels)
	labels[createdByLabel] = "go-client"
	return metadata{Name: o.Name, Namespace: o.Namespace, Labels: labels, Annotations: map[string]string{requestIDAnnotation: o.RequestID}}
}

// expiry is empty without a lifetime.
func (o CreateOptions) expiry(now time.Time) map[string]any {
	if o.Lifetime == 0 {
		return map[string]any{}
	}
	return map[string]any{"shutdownTime": now.Add(o.Lifetime).UTC().Format(time.RFC3339), "shutdownPolicy": "Delete"}
}

// sandbox returns a Sandbox that runs an image.
func (o CreateOptions) sandbox(now time.Time) *object {
	container := map[string]any{"name": "main", "image": o.Image}
	if o.Command != nil {
		container["command"] = o.Command
	}
	if o.Env != nil {
		container["env"] = variables(o.Env)
	}
	limits := map[string]string{}
	if o.CPU != "" {
		limits["cpu"] = o.CPU
	}
	if o.Memory != "" {
		limits["memory"] = o.Memory
	}
	if len(limits) > 0 {
		container["resources"] = map[string]any{"limits": limits}
	}
	pod := map[string]any{"containers": []any{container}}
	if o.RuntimeClass != "" {
		pod["runtimeClassName"] = o.RuntimeClass
	}
	spec := o.expiry(now)
	spec["runtime"] = "Injected"
	spec["podTemplate"] = map[string]any{"spec": pod}
	if o.SuspendAfter != 0 {
		spec["idlePolicy"] = map[string]any{"suspendAfterSeconds": int(o.SuspendAfter.Seconds())}
	}
	if o.SuspendDepth != "" {
		spec["suspendPolicy"] = map[string]any{"depth": o.SuspendDepth}
	}
	return &object{Metadata: o.metadata(), Spec: spec}
}

// fork returns a Sandbox that continues from a snapshot, with the spec of the Sandbox that the snapshot was taken of.
func (o CreateOptions) fork(source *object, now time.Time) *object {
	spec := maps.Clone(source.Spec)
	for _, own := range []string{"operatingMode", "shutdownTime", "shutdownPolicy"} {
		delete(spec, own)
	}
	maps.Copy(spec, o.expiry(now))
	spec["restoreFrom"] = map[string]any{"snapshotRef": map[string]any{"name": o.Snapshot}}
	return &object{Metadata: o.metadata(), Spec: spec}
}

// claim returns a claim of a pool.
func (o CreateOptions) claim(pool string, now time.Time) *object {
	spec := map[string]any{"warmPoolRef": map[string]any{"name": pool}}
	if o.Env != nil {
		spec["env"] = variables(o.Env)
	}
	if o.Lifetime != 0 {
		spec["lifecycle"] = o.expiry(now)
	}
	wanted := &object{Metadata: o.metadata(), Spec: spec}
	wanted.Metadata.Annotations[firstRequestedAnnotation] = now.UTC().Format(time.RFC3339Nano)
	return wanted
}

func variables(env map[string]string) []any {
	list := []any{}
	for name, value := range env {
		list = append(list, map[string]any{"name": name, "value": value})
	}
	return list
}

// finalReasons: a sandbox or claim with one of these does not become ready by itself.
var finalReasons = map[string]bool{
	"ClaimExpired": true, "EnvVarsInjectionRejected": true, "InvalidConfiguration": true, "InvalidMetadata": true, "PodFailed": true,
	"PodSucceeded": true, "SandboxExpired": true, "TemplateNotFound": true, "VolumeClaimTemplatesError": true, "WarmPoolNotFound": true,
}

// saveReasons: the sandbox keeps running, because its policy does not let it lose its memory.
var saveReasons = map[string]bool{
	"KeyUnavailable": true, "QuotaExceeded": true, "RuntimeCannotSave": true, "RuntimeVersionDiffers": true, "SaveFailed": true,
	"SourceNotRunning": true, "VolumeNotLocal": true,
}

// verdict is what a state of an object means to somebody who waits for it. Neither done nor failed means waiting.
type verdict struct {
	done         bool
	failed       string
	serverReason string
	waiting      string
}

func isReady(o *object) verdict {
	if o.Spec["operatingMode"] == "Suspended" {
		return verdict{failed: "it is suspended; resume it first"}
	}
	return judgeReady(o, true)
}

func isClaimed(o *object) verdict { return judgeReady(o, o.Status.Sandbox.Name != "") }

func isTaken(o *object) verdict {
	for _, each := range o.Status.Conditions {
		if each.Type == "Failed" && each.Status == "True" {
			return verdict{failed: each.text(), serverReason: each.Reason}
		}
	}
	return judgeReady(o, true)
}

func isSuspended(o *object) verdict {
	found, ok := o.current("Suspended")
	switch {
	case ok && found.Status == "True":
		return verdict{done: true}
	case o.Spec["operatingMode"] != "Suspended":
		return verdict{failed: "it was resumed meanwhile"}
	case ok && saveReasons[found.Reason]:
		return verdict{failed: found.text(), serverReason: found.Reason}
	}
	return verdict{waiting: firstOf(found.text(), "suspending")}
}

func judgeReady(o *object, complete bool) verdict {
	ready, ok := o.current("Ready")
	if ok && ready.Status == "True" && complete {
		return verdict{done: true}
	}
	if o.Metadata.DeletionTimestamp != "" {
		return verdict{failed: "it is being deleted"}
	}
	for _, each := range o.Status.Conditions {
		if each.Status == "False" && finalReasons[each.Reason] {
			return verdict{failed: each.text(), serverReason: each.Reason}
		}
	}
	return verdict{waiting: firstOf(ready.text(), "its controller has not seen it yet")}
}

func (c condition) text() string {
	if c.Message == "" || c.Message == c.Reason {
		return c.Reason
	}
	return fmt.Sprintf("%s (%s)", c.Message, c.Reason)
}
