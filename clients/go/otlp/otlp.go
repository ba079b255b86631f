// Package otlp exports the spans of package sandbox. It is a module of its own, so that programs without traces need neither OpenTelemetry's
// SDK nor gRPC.
package otlp

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// NewTracerProvider returns a provider that sends spans with OTLP over gRPC to the address in OTEL_EXPORTER_OTLP_ENDPOINT. It is for the
// option TracerProvider of package sandbox; it does not become the global provider. The caller calls Shutdown, which sends what is left.
func NewTracerProvider(ctx context.Context, serviceName string) (*sdktrace.TracerProvider, error) {
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot make the exporter of traces: %w", err)
	}
	named, err := resource.Merge(resource.Default(), resource.NewSchemaless(attribute.String("service.name", serviceName)))
	if err != nil {
		return nil, fmt.Errorf("cannot describe the service %q: %w", serviceName, err)
	}
	return sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(named)), nil
}
