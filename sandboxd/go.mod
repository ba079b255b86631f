module github.com/agent-sandbox/agent-sandbox/sandboxd

go 1.26.0

require (
	connectrpc.com/connect v1.21.1
	connectrpc.com/grpcreflect v1.3.1
	google.golang.org/protobuf v1.36.12
)

require golang.org/x/sys v0.49.0

tool (
	connectrpc.com/connect/cmd/protoc-gen-connect-go
	google.golang.org/protobuf/cmd/protoc-gen-go
)
