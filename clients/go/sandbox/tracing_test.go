package sandbox

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"
)

// recorder is a tracer provider that keeps its spans.
type recorder struct {
	embedded.TracerProvider
	ended []*recordedSpan
	next  byte
}

func (r *recorder) Tracer(string, ...trace.TracerOption) trace.Tracer {
	return recordingTracer{recorder: r}
}

type recordingTracer struct {
	embedded.Tracer
	*recorder
}

func (r *recorder) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanContextFromContext(ctx)
	r.next++
	id := parent.TraceID()
	if !parent.IsValid() {
		id = trace.TraceID{r.next}
	}
	span := &recordedSpan{recorder: r, name: name, parent: parent, attributes: map[string]string{}}
	span.own = trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{r.next}, TraceFlags: trace.FlagsSampled})
	settings := trace.NewSpanStartConfig(options...)
	span.SetAttributes(settings.Attributes()...)
	return trace.ContextWithSpan(ctx, span), span
}

type recordedSpan struct {
	noop.Span
	recorder    *recorder
	name        string
	own, parent trace.SpanContext
	attributes  map[string]string
	failed      bool
}

func (s *recordedSpan) SpanContext() trace.SpanContext { return s.own }
func (s *recordedSpan) IsRecording() bool              { return true }
func (s *recordedSpan) SetStatus(code codes.Code, _ string) {
	s.failed = code == codes.Error
}
func (s *recordedSpan) SetAttributes(attributes ...attribute.KeyValue) {
	for _, each := range attributes {
		s.attributes[string(each.Key)] = each.Value.Emit()
	}
}
func (s *recordedSpan) End(...trace.SpanEndOption) { s.recorder.ended = append(s.recorder.ended, s) }

func TestOneSpanForEachOperation(t *testing.T) {
	spans := &recorder{}
	var traceparent string
	box := legacyBox(t, Options{TracerProvider: spans, TraceServiceName: "agent"}, func(w http.ResponseWriter, r *http.Request) {
		traceparent = r.Header.Get("traceparent")
		if r.URL.Path != "/execute" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, `{"exit_code":3}`)
	})
	if _, err := box.Run(t.Context(), "SECRET=x /usr/bin/python3 -c secret"); err != nil {
		t.Fatal(err)
	}
	ran := spans.ended[0]
	if want := fmt.Sprintf("00-%s-%s-01", ran.own.TraceID(), ran.own.SpanID()); traceparent != want {
		t.Errorf("traceparent is %q instead of %q", traceparent, want)
	}
	delete(ran.attributes, "sandbox.request_id")
	if want := map[string]string{"sandbox.command.executable": "python3", "sandbox.exit_code": "3"}; ran.name != "agent.run" || ran.failed || !reflect.DeepEqual(ran.attributes, want) {
		t.Errorf("got span %q with %v", ran.name, ran.attributes)
	}

	// An operation belongs to the trace of its caller; without one, to the life of the connection.
	ctx, caller := spans.Start(t.Context(), "caller")
	if _, err := box.Read(ctx, "nothing"); err == nil {
		t.Fatal("a missing file was read")
	}
	if read := spans.ended[1]; read.name != "agent.read" || !read.failed || read.parent.SpanID() != caller.SpanContext().SpanID() {
		t.Errorf("got span %q, parent %v", read.name, read.parent)
	}
	box.link.disconnect(nil)
	life := spans.ended[2]
	if life.name != "agent.lifecycle" || ran.parent.SpanID() != life.own.SpanID() {
		t.Errorf("got span %q; parent of run: %v", life.name, ran.parent)
	}
	if got, want := newTracing(spans, "").annotation(ctx), fmt.Sprintf(`{"traceparent":"00-%s-%s-01"}`, caller.SpanContext().TraceID(), caller.SpanContext().SpanID()); got != want {
		t.Errorf("the annotation is %s instead of %s", got, want)
	}
}

func TestNoTracesWithoutAProvider(t *testing.T) {
	spans := &recorder{}
	box := legacyBox(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("traceparent") != "" {
			t.Error("the trace of the caller was sent")
		}
		_, _ = io.WriteString(w, `{}`)
	})
	ctx, caller := spans.Start(t.Context(), "caller")
	if _, err := box.Run(ctx, "true"); err != nil || len(spans.ended) != 0 || len(caller.(*recordedSpan).attributes) != 0 {
		t.Errorf("got %d spans, %v", len(spans.ended), err)
	}
}
