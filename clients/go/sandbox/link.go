package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// link is the connection of a handle to the runtime in its sandbox. Open sets it; Disconnect, Close and the end of a tunnel clear it.
type link struct {
	tracing *tracing
	// reference is nil on handles of Create and Get.
	reference *referenceRules

	mu         sync.Mutex
	router     *routerClient
	to         target
	claim      Key
	span       trace.Span
	down       context.CancelCauseFunc
	live       context.Context
	lost       error
	operations sync.WaitGroup
}

// referenceRules are the rules for operations of handles from New, CreateSandbox and GetSandbox.
type referenceRules struct {
	// legacy: operations use the API of the first runtime, on this port.
	legacy     bool
	serverPort int
	// restOnly: there is no way to the port for processes.
	restOnly               bool
	requestTimeout         time.Duration
	perAttemptTimeout      time.Duration
	maxDownload, maxUpload int64
	podIP                  func() string
	forgetPodIP            func()
}

// handle reaches the runtime API of one sandbox.
type handle struct{ *link }

func newLink(tracing *tracing, reference *referenceRules) *link {
	return &link{tracing: tracing, reference: reference}
}

func (l *link) connect(router *routerClient, to target, claim Key, span trace.Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live, l.down = context.WithCancelCause(context.Background())
	l.router, l.to, l.claim, l.span, l.lost = router, to, claim, span, nil
}

// disconnect ends running operations. The reason becomes part of the errors of later ones.
func (l *link) disconnect(reason error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.router == nil {
		return
	}
	l.router, l.lost = nil, reason
	l.down(l.notReady())
	if l.span != nil {
		l.span.End()
	}
}

func (l *link) notReady() error {
	if l.lost == nil {
		return ErrNotReady
	}
	return fmt.Errorf("%w: %w", ErrNotReady, l.lost)
}

func (l *link) connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.router != nil
}

// drain waits until no operation is running.
func (l *link) drain(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		l.operations.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// operation is a call on a sandbox.
type operation struct {
	name       string
	attributes []attribute.KeyValue
	// limited operations end with their response, so that a timeout can apply.
	limited bool
	timeout time.Duration
	// limitsItself: the call has its own timeout.
	limitsItself bool
}

// operate runs an operation in a span. It fails at once if the handle is not connected.
func (l *link) operate(ctx context.Context, o operation, call func(context.Context) error) error {
	l.mu.Lock()
	claim, live, lifecycle := l.claim, l.live, l.span
	if l.router == nil {
		defer l.mu.Unlock()
		return describe(claim, o.name, l.notReady())
	}
	l.operations.Add(1)
	l.mu.Unlock()
	defer l.operations.Done()
	if lifecycle != nil && !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = trace.ContextWithSpan(ctx, lifecycle)
	}
	ctx, end := l.tracing.start(ctx, o.name, o.attributes...)
	err := l.within(ctx, live, o, call)
	end(err)
	if l.reference == nil {
		return err
	}
	return describe(claim, o.name, err)
}

func (l *link) within(ctx, live context.Context, o operation, call func(context.Context) error) error {
	if !o.limited {
		// Its result may outlive this call, so the connection cannot end its context.
		return call(ctx)
	}
	if l.reference != nil && !o.limitsItself {
		_, hasDeadline := ctx.Deadline()
		limitOf := o.timeout
		if limitOf == 0 && !hasDeadline {
			limitOf = l.reference.requestTimeout
		}
		if limitOf > 0 {
			var cancel context.CancelFunc
			ctx, cancel = limit(ctx, limitOf, "Cannot "+o.name)
			defer cancel()
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(live, func() { cancel(context.Cause(live)) })
	defer stop()
	err := call(ctx)
	if err != nil && ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return err
}

// send sends a request to the sandbox and returns a successful response.
func (l *link) send(ctx context.Context, c call) (*http.Response, error) {
	router, to, err := l.route()
	if err != nil {
		return nil, err
	}
	return router.send(ctx, to, c)
}

func (l *link) route() (*routerClient, target, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.router == nil {
		return nil, target{}, l.notReady()
	}
	return l.router, l.to, nil
}
