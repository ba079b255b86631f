SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/node_modules/.bin:$(CURDIR)/.cache/toolchain/go/bin:$(PATH):/usr/sbin:/sbin
MAKEFLAGS += --no-print-directory

NODE := node --conditions=source --disable-warning=ExperimentalWarning

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  \033[36m%-18s\033[0m %s\n", $$1, $$2 }' Makefile

# What sandboxes run with by default: gvisor or runc.
RUNTIME ?= gvisor
$(if $(filter $(RUNTIME),gvisor runc),,$(error RUNTIME is "$(RUNTIME)"; it can be gvisor or runc))

.PHONY: setup setup-gvisor setup-runc setup-test
setup setup-gvisor:
	@scripts/setup.sh run
setup-runc:
	@scripts/setup.sh runc
setup-test:
	@scripts/setup.sh test

.PHONY: up down
up: setup-$(RUNTIME) ## Install what is missing, build gVisor, start the box, run code in a first sandbox (RUNTIME=runc: without gVisor)
	@$(NODE) scripts/build.ts
	@packages/node/$(RUNTIME)/build.sh dist
	@dist/agent-sandbox up $(if $(filter runc,$(RUNTIME)),--default-runtime runc)
	@dist/agent-sandbox apply -f examples/first-sandbox.yaml
	@dist/agent-sandbox wait sandbox/my-sandbox --for=condition=Ready --timeout=60s
	@dist/agent-sandbox exec my-sandbox -- sh -c 'echo "Hello from $$(hostname): $$(uname -sr), process $$$$, $$(ls / | wc -l) entries in /"'
down: setup ## Stop the box; its sandboxes keep running
	@[ -x dist/agent-sandbox ] || $(MAKE) build
	@dist/agent-sandbox down

.PHONY: build
build: setup-runc ## Build dist/agent-sandbox, sandboxd, gVisor's runsc and runc
	@$(NODE) scripts/build.ts --all
	@packages/node/gvisor/build.sh dist
	@packages/node/runc/build.sh dist

.PHONY: gvisor runc
gvisor: setup ## Build a current gVisor; the box prefers it to the machine's
	@packages/node/gvisor/build.sh dist
runc: setup-runc ## Build a current runc; the box prefers it to the machine's
	@packages/node/runc/build.sh dist

.PHONY: generate manifests
generate: manifests ## Regenerate everything that is generated
	@$(NODE) packages/apiserver/generate/main.ts
	@$(NODE) packages/apiserver/generate/protobuf.ts
manifests: setup ## Generate the CRDs into deploy/crds
	@$(NODE) packages/api/generate/main.ts

.PHONY: check format
check: setup ## Format, lint, types, layers, generated files, unit tests: under a minute
	@$(NODE) scripts/check.ts
format: setup ## Rewrite the sources in the house format
	@biome check --write .

.PHONY: test test-unit test-kube test-api test-node test-controllers test-router test-sandboxd test-data-plane test-e2e test-security test-kubernetes test-differential test-clients
test: setup-test ## Install what is missing and run every suite; what passed and is unchanged only with FRESH=1
	@FRESH=$(FRESH) $(NODE) scripts/test.ts all
test-unit: setup-test ## Unit tests of all packages
	@$(NODE) scripts/test.ts unit
test-kube: setup-test ## The client and informer against a hostile API server
	@$(NODE) scripts/test.ts kube
test-api: setup-test ## The embedded API server with kubectl
	@$(NODE) scripts/test.ts apiserver
test-node: setup-test ## The embedded node with real runc and gVisor (needs root)
	@$(NODE) scripts/test.ts node
test-controllers: setup-test ## The controllers on the embedded and on a real API server
	@$(NODE) scripts/test.ts controllers
test-router: setup-test ## The router in front of real connections
	@$(NODE) scripts/test.ts router
test-sandboxd: setup-test ## The daemon inside a sandbox (needs root)
	@$(NODE) scripts/test.ts sandboxd
test-data-plane: test-sandboxd test-router ## The daemon and the router, alone and together on real runc and gVisor (needs root)
	@$(NODE) scripts/test.ts data-plane
test-e2e: setup-test ## The whole box, started and killed (needs root)
	@$(NODE) scripts/test.ts e2e
test-security: setup-test ## Tenants, sandboxes, callers, images and local users attack a box and each other (needs root)
	@$(NODE) scripts/test.ts security

test-kubernetes: setup-test ## Our CRDs and conversion on a real kube-apiserver (built on first use)
	@$(NODE) scripts/test.ts kubernetes

test-differential: setup-test ## The same requests to the embedded and to a real API server, answers compared
	@$(NODE) scripts/test.ts differential
test-clients: setup-test ## client-go, Python, Helm and client-node against the embedded API server
	@$(NODE) scripts/test.ts clients

.PHONY: test-api-fuzz test-api-crash test-controllers-storm test-node-kill test-fresh test-security-long
test-api-fuzz: setup-test ## Ten minutes of nonsense for the embedded API server
	@$(NODE) packages/apiserver/test/fuzz/main.ts --seconds 600
test-api-crash: setup-test ## 200 rounds of kill -9 in a storm of writes
	@CRASH_ROUNDS=200 vitest run --project apiserver crash-storm
test-controllers-storm: setup-test ## 1,000 claims and 100 kills of the manager, and a hostile API server at full size
	@STORM=long vitest run --project controllers test/controllers/storm
test-node-kill: setup-test ## Fifty kills of the box while twenty Pods come and go (needs root)
	@KILLS=50 vitest run --project e2e node-kill
test-fresh: ## `make up` in a new Debian 12 with its own nodejs and npm, and how long it takes (needs root)
	@scripts/setup.sh fresh
	@test/fresh/debian.sh $(RUNTIME)
test-security-long: setup-test ## The security suite with ten minutes of the random attacker (needs root)
	@SECURITY=long vitest run --project security

.PHONY: bench bench-kube bench-api bench-controllers bench-data-plane bench-node
bench: bench-kube bench-api bench-controllers bench-data-plane bench-node ## Run every benchmark and rewrite bench/RESULTS.md
	@$(NODE) bench/results.ts
bench-kube: setup-test ## Our informer beside a bare HTTP loop
	@$(NODE) bench/kube.ts

bench-api: setup-test ## The embedded API server beside a real kube-apiserver
	@$(NODE) bench/api.ts

bench-controllers: setup-test ## Warm and cold claims on the embedded and on a real API server
	@$(NODE) bench/controllers.ts

bench-data-plane: setup-test ## The router beside a plain splice and a direct connection
	@$(NODE) bench/data-plane.ts

bench-node: setup-test ## Pods of the embedded node beside bare runc and gVisor (needs root)
	@$(NODE) bench/node.ts

.PHONY: deploy
deploy: manifests ## Apply the CRDs to the cluster kubectl points at
	@kubectl apply --server-side -f deploy/crds

.PHONY: clean
clean: ## Remove what was built and installed in this folder
	@rm -rf dist .cache packages/*/dist node_modules
