package otlp

import (
	"context"
	"net"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
)

// receiver keeps what is exported.
type receiver struct {
	collector.UnimplementedTraceServiceServer
	requests chan *collector.ExportTraceServiceRequest
}

func (r *receiver) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.requests <- request
	return &collector.ExportTraceServiceResponse{}, nil
}

func TestNewTracerProviderExportsSpans(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	received := &receiver{requests: make(chan *collector.ExportTraceServiceRequest, 1)}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, received)
	go func() { _ = server.Serve(listener) }()
	defer server.Stop()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())

	provider, err := NewTracerProvider(t.Context(), "my-agent")
	if err != nil {
		t.Fatal(err)
	}
	_, span := provider.Tracer("test").Start(t.Context(), "sandbox-client.run")
	span.End()
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	resource := (<-received.requests).ResourceSpans[0]
	if name := resource.ScopeSpans[0].Spans[0].Name; name != "sandbox-client.run" {
		t.Errorf("got span %q", name)
	}
	for _, attribute := range resource.Resource.Attributes {
		if attribute.Key == "service.name" && attribute.Value.GetStringValue() != "my-agent" {
			t.Errorf("got service %q", attribute.Value.GetStringValue())
		}
	}
}
