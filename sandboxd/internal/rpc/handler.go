package rpc

import (
	"math"
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1/processv1connect"
)

// maxMessageBytes is gRPC's default limit for received messages.
const maxMessageBytes = 4 << 20

// AccessCheck returns a status code and an error for requests that must be refused.
type AccessCheck func(http.Header) (connect.Code, error)

// Handler serves gRPC, gRPC-Web and Connect, with server reflection. Requests that the check refuses are not read.
func (s *Service) Handler(check AccessCheck) http.Handler {
	bound := connect.WithHandlerOptions(
		connect.WithReadMaxBytes(maxMessageBytes),
		// No compression: with it, a stalled reader could hold megabytes of the output of a process that repeats one
		// line, and on the way to a router on the same machine it costs more time than it saves.
		connect.WithCompressMinBytes(math.MaxInt),
		connect.WithCodec(jsonCodec{"json"}),
		connect.WithCodec(jsonCodec{"json; charset=utf-8"}),
	)
	mux := http.NewServeMux()
	mux.Handle(processv1connect.NewProcessServiceHandler(s, bound))
	reflector := grpcreflect.NewStaticReflector(processv1connect.ProcessServiceName)
	mux.Handle(grpcreflect.NewHandlerV1(reflector, bound))
	mux.Handle(grpcreflect.NewHandlerV1Alpha(reflector, bound))
	refusals := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, err := check(r.Header)
		switch {
		case err == nil:
			mux.ServeHTTP(w, r)
		case refusals.IsSupported(r):
			_ = refusals.Write(w, r, connect.NewError(code, err))
		default:
			http.Error(w, err.Error(), http.StatusUnauthorized)
		}
	})
}
