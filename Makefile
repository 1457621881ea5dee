# aiperfd: build, test, demo. `make` prints what there is.
.DEFAULT_GOAL := help
SHELL         := /bin/bash

BIN     := bin/aiperfd
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION ?= $(shell git rev-parse HEAD 2>/dev/null)
# The time of the commit, in UTC; the same commit gives the same binary.
COMMIT_DATE ?= $(if $(SOURCE_DATE_EPOCH),$(shell date -u -d @$(SOURCE_DATE_EPOCH) +%Y-%m-%dT%H:%M:%SZ),$(shell \
	TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd 2>/dev/null))
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.revision=$(REVISION) -X main.commitDate=$(COMMIT_DATE)
PREFIX  ?= /usr/local
GOTOOL  := go tool -modfile=tools/go.mod
# ONCE=1 lets the demo end by itself; without a terminal it always does.
ONCE    ?=
# ARGS are further arguments of bench-limits.
ARGS    ?=

.PHONY: help build install demo test simulate race lint generate check-generated web e2e soak crash answers fuzz bench bench-limits docker k8s dist dist-check clean

help: ## print this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

build: ## build bin/aiperfd, one static binary
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '$(LDFLAGS)' -o $(BIN) ./cmd/aiperfd

install: build ## copy it to PREFIX/bin (default /usr/local); DESTDIR is put before it
	install -D -m 0755 $(BIN) $(DESTDIR)$(PREFIX)/bin/aiperfd

demo: build ## daemon, simulated server and one benchmark in one process (ONCE=1: end afterwards)
	$(BIN) demo $(if $(ONCE),--once)

test: ## run all tests
	go test -vet=off -timeout 20m ./... # make lint has vet, which would cost another 40 s of CPU time

simulate: ## repeat all simulations of error rates in full (hours; docs/tests.md; NAME=Gate: only those of that name)
	AIPERFD_SIMULATE=full go test -vet=off -count=1 -timeout 24h -v -run '^Test(Simulate|Properties).*$(NAME)' ./internal/engine/stat \
		./internal/compare ./internal/study/... | grep -E '^(---| |FAIL|ok)'; exit $${PIPESTATUS[0]}

race: ## run the tests of packages with goroutines under the race detector
	scripts/race.sh

lint: web/node_modules/.package-lock.json ## check style, formatting and unused code
	cd web && npm run --silent lint
	$(GOTOOL) golangci-lint run ./...

generate: ## rewrite what is generated: openapi/openapi.json and the tables in docs/
	go run ./openapi/gen
	go run ./scripts/docs

web: web/node_modules/.package-lock.json ## check, test and build the pages in web/dist (Node.js 20 or newer)
	cd web && npm run build && npm test

# npm writes this file when it has installed everything.
web/node_modules/.package-lock.json: web/package-lock.json
	cd web && npm ci --no-audit --no-fund
	touch $@

check-generated: generate web ## fail if generated files are not up to date
	@git add --intent-to-add openapi docs web/dist && git diff --exit-code -- openapi docs web/dist || { echo "generated files differ: run 'make generate' and commit the result"; exit 1; }

e2e: build ## drive the built binary: scripts, real Prometheus, a browser, official SDKs
	scripts/e2e.sh

soak: build ## an hour of short runs and feed clients; fails if the daemon grows (FOR=1h)
	go run ./scripts/soak -bin $(BIN) -for $${FOR:-1h}

crash: build ## kill the daemon 100 times while it works; fails if anything is lost, torn or left (KILLS=100, SEED=)
	go run ./scripts/crash -bin $(BIN) -kills $${KILLS:-100} $${SEED:+-seed $$SEED}

answers: build ## measure on real sockets how often answers are right (25 min, idle machine; WHAT="same slower killed", ARGS="-trials 2")
	go run ./scripts/answers -bin $(BIN) $(ARGS) $(WHAT)

fuzz: ## fuzz every parser for FUZZTIME (default 20s) each
	scripts/fuzz.sh $${FUZZTIME:-20s}

bench: ## run the Go benchmarks, and the tests that count allocations
	go test -run Alloc -bench . -benchmem ./...

bench-limits: build ## compare with a raw epoll client, the server's truth and other binaries (Linux, gcc; ARGS=--list)
	go run ./benchmarks/limits --bin $(BIN) $(ARGS)

docker: ## build the container image (PLATFORM=linux/amd64,linux/arm64 for both)
	docker build -t aiperfd $(if $(PLATFORM),--platform $(PLATFORM)) --build-arg VERSION=$(VERSION) \
		--build-arg COMMIT_DATE=$(COMMIT_DATE) --build-arg REVISION=$(REVISION) .

k8s: ## render the Helm chart and the kustomizations and validate them (UPDATE=1: rewrite testdata)
	scripts/k8s.sh

dist: ## make the files of a release in dist/: archives, deb, rpm, checksums, bills of materials
	scripts/dist.sh $(VERSION) $(REVISION) $(COMMIT_DATE)

dist-check: ## make a release for this machine twice, compare the files, install the package
	scripts/dist_check.sh $(VERSION) $(REVISION) $(COMMIT_DATE)

clean: ## remove build output
	rm -rf bin dist coverage.out
