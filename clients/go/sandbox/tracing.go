package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// tracing makes one span per operation. It is nil without a TracerProvider, and then does nothing.
type tracing struct {
	tracer  trace.Tracer
	service string
}

func newTracing(provider trace.TracerProvider, service string) *tracing {
	if provider == nil {
		return nil
	}
	return &tracing{tracer: provider.Tracer("github.com/agent-sandbox/agent-sandbox/clients/go/sandbox"), service: service}
}

// start starts a span. The function that it returns ends it.
func (t *tracing) start(ctx context.Context, operation string, attributes ...attribute.KeyValue) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(ctx, t.service+"."+operation, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attributes...))
	return ctx, func(err error) {
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// startLifecycle starts the span of a connected handle. It is nil without tracing.
func (t *tracing) startLifecycle(ctx context.Context) trace.Span {
	if t == nil {
		return nil
	}
	_, span := t.tracer.Start(ctx, t.service+".lifecycle")
	return span
}

// annotate adds attributes to the span of an operation, when they are known.
func (t *tracing) annotate(ctx context.Context, attributes ...attribute.KeyValue) {
	if t != nil {
		trace.SpanFromContext(ctx).SetAttributes(attributes...)
	}
}

// inject adds the trace headers of W3C to a request.
func (t *tracing) inject(ctx context.Context, header http.Header) {
	for name, value := range t.carrier(ctx) {
		header.Set(name, value)
	}
}

// annotation is the value of the trace annotation of a claim, or "".
func (t *tracing) annotation(ctx context.Context) string {
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return ""
	}
	text, _ := json.Marshal(t.carrier(ctx))
	return string(text)
}

func (t *tracing) carrier(ctx context.Context) map[string]string {
	span := trace.SpanContextFromContext(ctx)
	if t == nil || !span.IsValid() {
		return nil
	}
	values := map[string]string{"traceparent": fmt.Sprintf("00-%s-%s-%02x", span.TraceID(), span.SpanID(), byte(span.TraceFlags()))}
	if state := span.TraceState().String(); state != "" {
		values["tracestate"] = state
	}
	return values
}
