SHELL := /bin/bash
.DEFAULT_GOAL := help
export PATH := $(CURDIR)/node_modules/.bin:$(CURDIR)/.cache/toolchain/go/bin:$(PATH):/usr/sbin:/sbin
MAKEFLAGS += --no-print-directory

NODE := node --conditions=source --disable-warning=ExperimentalWarning

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  \033[36m%-24s\033[0m %s\n", $$1, $$2 }' Makefile

# The default runtime of sandboxes: gvisor or runc.
RUNTIME ?= gvisor
$(if $(filter $(RUNTIME),gvisor runc),,$(error RUNTIME is "$(RUNTIME)"; it can be gvisor or runc))

.PHONY: setup setup-gvisor setup-runc setup-check setup-test setup-cluster
setup setup-gvisor:
	@scripts/setup.sh run
setup-runc:
	@scripts/setup.sh runc
setup-check:
	@scripts/setup.sh check
setup-test:
	@scripts/setup.sh test
setup-cluster:
	@scripts/setup.sh cluster

.PHONY: up down
up: setup-$(RUNTIME) ## Install missing packages, build gVisor, start the box and run a command in a first sandbox (RUNTIME=runc uses runc instead)
	@$(NODE) scripts/build.ts
	@packages/node/$(RUNTIME)/build.sh dist
	@dist/agent-sandbox up $(if $(filter runc,$(RUNTIME)),--default-runtime runc)
	@dist/agent-sandbox apply -f examples/first-sandbox.yaml
	@dist/agent-sandbox wait sandbox/my-sandbox --for=condition=Ready --timeout=60s
	@dist/agent-sandbox exec my-sandbox -- sh -c 'echo "Hello from $$(hostname): $$(uname -sr), process $$$$, $$(ls / | wc -l) entries in /"'
down: setup ## Stop the box; sandboxes keep running
	@[ -x dist/agent-sandbox ] || $(MAKE) build
	@dist/agent-sandbox down

.PHONY: build
build: setup-runc ## Build dist/agent-sandbox, sandboxd, gVisor's runsc and runc
	@$(NODE) scripts/build.ts --all
	@packages/node/gvisor/build.sh dist
	@packages/node/runc/build.sh dist

.PHONY: release
release: ## Build what users install, for x86_64 and arm64, into dist/release
	@scripts/setup.sh release
	@$(NODE) scripts/release.ts

.PHONY: sdk
sdk: setup ## Build the npm package of the TypeScript SDK into dist/sdk, and the wheel of the Python SDK into dist/python
	@$(NODE) scripts/sdk-package.ts
	@$(NODE) scripts/python-package.ts

# The lock is shared by all clones, because they share the cache.
.PHONY: images
images: ## Build the images workspace and code-interpreter from Debian packages into dist/images (FRESH=1: with the packages of today)
	@scripts/setup.sh images
	@mkdir -p $${XDG_CACHE_HOME:-$$HOME/.cache}/agent-sandbox
	@FRESH=$(FRESH) flock $${XDG_CACHE_HOME:-$$HOME/.cache}/agent-sandbox/images.lock $(NODE) scripts/images/main.ts

.PHONY: operator-images
operator-images: setup-check ## Build the images of manager, router and sandboxd for clusters into dist/images, for x86_64 and arm64 (FRESH=1: with the Debian packages of today)
	@FRESH=$(FRESH) $(NODE) scripts/operator-images/main.ts

.PHONY: gvisor runc
gvisor: setup ## Build gVisor; the box prefers it to an installed one
	@packages/node/gvisor/build.sh dist
runc: setup-runc ## Build runc; the box prefers it to an installed one
	@packages/node/runc/build.sh dist

.PHONY: generate manifests
generate: manifests ## Regenerate all generated files
	@$(NODE) packages/apiserver/generate/main.ts
	@$(NODE) packages/apiserver/generate/descriptions.ts
	@$(NODE) packages/apiserver/generate/protobuf.ts
	@sandboxd/generate
	@python3 clients/python/tools/make_sync.py
	@$(NODE) scripts/reference/main.ts
manifests: setup-check ## Generate the CRDs and the manifests in deploy
	@$(NODE) packages/api/generate/main.ts
	@$(NODE) scripts/operator/main.ts

.PHONY: picture
picture: setup gvisor ## Draw the README's picture of a terminal again, from a session on a real box (needs root)
	@$(NODE) test/docs/make-picture.ts

.PHONY: dashboard-pictures
dashboard-pictures: setup-test gvisor ## Take the pictures of docs/dashboard.md again, in headless Chromium on a real box (needs root)
	@$(NODE) test/docs/make-dashboard-pictures.ts

.PHONY: check format
check: setup-check ## Check formatting, types, lint rules, imports, generated files and Go; run the unit tests
	@$(NODE) scripts/check.ts
format: setup ## Format all sources
	@biome check --write .
	@git ls-files -z '*.go' | xargs -0 gofmt -w

# Each target test-<suite> runs the vitest project or the Go module of that name, and its tests are in packages/<suite>,
# test/<suite> or sandboxd. scripts/targets.test.ts checks this.
.PHONY: test test-unit test-kube test-apiserver test-node test-controllers test-router test-sandboxd test-data-plane test-e2e test-docs test-examples test-state test-sdk test-security test-cluster test-kube-apiserver test-differential test-operator test-clients test-reference-clients test-compat test-dashboard test-release
test: setup-test ## Run every suite; skips suites that passed before if nothing has changed (FRESH=1 runs them anyway)
	@FRESH=$(FRESH) $(NODE) scripts/test.ts all
test-unit: setup-test ## Unit tests of all packages
	@$(NODE) scripts/test.ts unit
test-kube: setup-test ## The client and the informers against an API server that injects faults
	@$(NODE) scripts/test.ts kube
test-apiserver: setup-test ## The embedded API server with kubectl
	@$(NODE) scripts/test.ts apiserver
test-node: setup-test ## The embedded node with runc and gVisor (needs root)
	@$(NODE) scripts/test.ts node
test-controllers: setup-test ## The controllers on the embedded API server and on kube-apiserver
	@$(NODE) scripts/test.ts controllers
test-router: setup-test ## The router with real connections
	@$(NODE) scripts/test.ts router
test-sandboxd: setup-test ## sandboxd under the race detector (needs root)
	@$(NODE) scripts/test.ts sandboxd
test-data-plane: test-sandboxd test-router ## sandboxd and the router, separately and together on runc and gVisor (needs root)
	@$(NODE) scripts/test.ts data-plane
test-e2e: setup-test ## The whole box, started and killed (needs root)
	@$(NODE) scripts/test.ts e2e
test-docs: setup-test ## Every command of README.md and docs, run as written on a box of its own (needs root)
	@$(NODE) scripts/test.ts docs
test-examples: setup-test ## Every command of examples and of docs/guides/images.md, run as written on a box with the images (needs root)
	@$(NODE) scripts/test.ts examples
test-state: setup-test ## Saved memory, snapshots and forks of sandboxes in a box with gVisor (needs root)
	@$(NODE) scripts/test.ts state
test-sdk: setup-test ## The SDKs for TypeScript, Python and Go against a box: one contract on runc and gVisor, killed boxes, the examples of the guides (needs root)
	@$(NODE) scripts/test.ts sdk
test-security: setup-test ## Attacks on a running box by tenants, sandboxes, callers, images and local users (needs root)
	@$(NODE) scripts/test.ts security
test-cluster: setup-test ## Manager, router and SDKs on a real Kubernetes node (needs root; TEST_CLUSTER=existing uses that of KUBECONFIG)
	@$(NODE) scripts/test.ts cluster
test-kube-apiserver: setup-test ## Our CRDs and conversion webhook on kube-apiserver (built on first use)
	@$(NODE) scripts/test.ts kube-apiserver
test-differential: setup-test ## Send the same requests to the embedded API server and to kube-apiserver; compare the responses
	@$(NODE) scripts/test.ts differential
test-operator: setup-test ## What installs manager and router in a cluster: images, manifests, chart and `agent-sandbox install`, on kube-apiserver (needs root)
	@$(NODE) scripts/test.ts operator
test-clients: setup-test ## client-go, the Python client, Helm and client-node against the embedded API server
	@$(NODE) scripts/test.ts clients
test-reference-clients: setup-test ## The reference's published Python client, and our package in its place, against a box (needs root; NEWEST=1 takes the newest version)
	@NEWEST=$(NEWEST) $(NODE) scripts/test.ts reference-clients
test-compat: setup-test ## The published clients of E2B, OpenSandbox and MCP, unmodified, against a box with gVisor (needs root; NEWEST=1 takes the newest versions)
	@NEWEST=$(NEWEST) $(NODE) scripts/test.ts compat
test-dashboard: setup-test ## The dashboard of a box with gVisor in headless Chromium, as a person uses it (needs root)
	@$(NODE) scripts/test.ts dashboard
test-release: setup-test ## Install a release in a new Debian 12 and run the first sandbox there (needs root)
	@$(NODE) scripts/test.ts release

# Long variants, not part of `make test`.
.PHONY: test-cluster-long test-unit-long test-apiserver-fuzz test-apiserver-crash test-controllers-storm test-e2e-kill test-fresh test-sandboxd-long test-security-long test-state-long test-sdk-long test-examples-long test-compat-long
test-unit-long: setup-test ## The longest simulation and property tests, with 1,000 runs each
	@PROPERTY_RUNS=1000 vitest run --project unit fence.simulation line-splitter created-fields quiet-update decide.properties verbs/watch watch-order
test-apiserver-fuzz: setup-test ## Ten minutes of random requests to the embedded API server
	@$(NODE) packages/apiserver/test/fuzz/main.ts --seconds 600
test-apiserver-crash: setup-test ## Kill the API server 200 times during concurrent writes
	@CRASH_ROUNDS=200 vitest run --project apiserver crash-storm
test-controllers-storm: setup-test ## 1,000 claims, 100 kills of the manager, an API server that injects faults, and bursts of 300 claims on kube-apiserver
	@STORM=long vitest run --project controllers test/controllers/storm test/controllers/claim-kubernetes
test-e2e-kill: setup-test ## Kill the box fifty times while twenty Pods start and stop (needs root)
	@KILLS=50 vitest run --project e2e node-kill
test-fresh: ## Every command of the README and the examples in a new Debian 12 with its own nodejs and npm, with times (needs root)
	@scripts/setup.sh fresh
	@test/fresh/debian.sh $(RUNTIME)
test-sandboxd-long: setup-test ## sandboxd under the race detector, with a million files (needs root)
	@cd sandboxd && go test -race ./cmd/... ./internal/... && SANDBOXD=long SANDBOXD_RACE=1 go test ./test/...
test-cluster-long: setup-test ## The cluster suite with all faults, and 40 claims during each (needs root)
	@CLUSTER=long vitest run --project cluster
test-security-long: setup-test ## The security suite with ten minutes of random attacks (needs root)
	@SECURITY=long vitest run --project security
test-state-long: setup-test ## 50 connections over 100 sleeps, 50 kills with 20 sandboxes, 100 forks, 2 GiB of memory (needs root)
	@STATE_CYCLES=100 STATE_CONNECTIONS=50 STATE_KILLS=50 STATE_SANDBOXES=20 STATE_FORKS=100 STATE_MEMORY_MIB=2048 \
		vitest run --project state --maxWorkers 1 connections kills many-forks edge-cases

test-examples-long: setup-test ## Build the images again; fails if the same packages give another digest
	@$(MAKE) images
	@$(MAKE) images FRESH=1
test-sdk-long: setup-test ## 2,000 commands with each SDK while the box is killed 20 times (needs root)
	@SDK_COMMANDS=2000 SDK_KILLS=20 vitest run --project sdk faults
test-compat-long: setup-test ## Edge cases of other platforms' clients in full length, and 200 sandboxes created while the box is killed (needs root)
	@COMPAT_LONG=1 COMPAT_CREATES=200 vitest run --project compat

.PHONY: bench bench-cluster bench-kube bench-api bench-controllers bench-data-plane bench-node bench-state bench-sdk bench-cli bench-compat bench-dashboard
bench: bench-kube bench-api bench-controllers bench-data-plane bench-node bench-state bench-sdk bench-cli bench-compat bench-dashboard ## Run all benchmarks and rewrite bench/RESULTS.md
	@$(NODE) bench/results.ts
bench-kube: setup-test ## The informer compared with a plain HTTP loop
	@$(NODE) bench/kube/main.ts
bench-api: setup-test ## The embedded API server compared with kube-apiserver
	@$(NODE) bench/api/main.ts
bench-controllers: setup-test ## Warm and cold claims on the embedded API server and on kube-apiserver
	@$(NODE) bench/controllers/main.ts
bench-data-plane: setup-test ## The router compared with a TCP splice and with direct connections
	@$(NODE) bench/data-plane/main.ts
bench-node: setup-test ## Pods of the embedded node compared with runc and gVisor alone (needs root)
	@$(NODE) bench/node/main.ts
bench-state: setup-test ## Saved and restored memory compared with gVisor alone (needs root)
	@$(NODE) bench/state/main.ts
bench-sdk: setup-test gvisor ## The SDKs compared with the reference's, with local processes and with plain HTTP (needs root)
	@$(NODE) bench/sdk/main.ts
bench-cluster: setup-test ## Two controllers on the test cluster and on fake nodes, in turns (needs make cluster-up; BENCH_B=<folder> with another controller)
	@$(NODE) bench/cluster/main.ts
bench-cli: setup-test gvisor runc ## Commands of the CLI compared with kubectl and with runc and gVisor alone (needs root)
	@$(NODE) bench/cli/main.ts
bench-compat: setup-test gvisor ## E2B's client compared with our SDK (needs root)
	@$(NODE) bench/compat/main.ts
bench-dashboard: setup-test ## The dashboard in headless Chromium with up to 5,000 Sandboxes
	@$(NODE) bench/dashboard/main.ts

CLUSTER := $(NODE) test/cluster/node/main.ts
.PHONY: cluster-up cluster-down cluster-status cluster-load
cluster-up: setup-cluster ## Start a Kubernetes cluster of one node on this machine, built on first use (needs root)
	@$(CLUSTER) up
cluster-down: ## Stop that cluster and remove all that it created
	@$(CLUSTER) down
cluster-status: ## Show its nodes, services and Pods, and the path of its kubeconfig
	@$(CLUSTER) status
cluster-load: ## Give it an image: make cluster-load ARCHIVE=dist/images/manager.tar
	@$(CLUSTER) load $(ARCHIVE)

.PHONY: deploy
deploy: manifests ## Apply the CRDs to kubectl's current cluster
	@kubectl apply --server-side -f deploy/crds

.PHONY: clean
clean: ## Remove built files, caches and installed packages from this folder
	@rm -rf dist .cache packages/*/dist node_modules
