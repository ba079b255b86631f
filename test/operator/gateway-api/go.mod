// Only the CRDs of the Gateway API are used, by ../traffic-examples.int.test.ts.
module agent-sandbox/test/operator/gateway-api

go 1.26.4

require sigs.k8s.io/gateway-api v1.4.1
