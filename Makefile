# The commands that people and CI use. `make` alone builds.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build

GO ?= go
GOLANGCI_LINT ?= golangci-lint

# The race detector needs a C compiler; without one Go turns cgo off by itself,
# and the tests run all the same.
RACE = $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race)
FUZZTIME ?= 10s
BENCH ?= .
SEEDS ?= 2000
# Other seeds with every commit, and the same ones for the same.
FIRST ?= $(shell printf %d 0x$$(git rev-parse --short=7 HEAD 2>/dev/null || echo 1))

.PHONY: build test sim lint fmt smoke bench fuzz-short tour ci release-check clean

build: ## the binary, static and without cgo, in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/ ./cmd/kernelctl

test: ## all tests, under the race detector
	@$(if $(RACE),,echo "no C compiler: without the race detector" >&2)
	$(GO) test $(RACE) ./...

sim: ## SEEDS=2000: the whole service in fake time, under faults drawn from so many seeds
	$(GO) test ./internal/sim -run TestService -timeout 20m -sim.seeds=$(SEEDS) -sim.first=$(FIRST)

lint: ## golangci-lint with .golangci.yml
	$(GOLANGCI_LINT) run ./...

fmt: ## format everything
	$(GOLANGCI_LINT) fmt ./...

smoke: ## the built binary, end to end
	./scripts/smoke.sh

bench: ## BENCH=regexp: benchmarks
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

fuzz-short: ## FUZZTIME=10s: every fuzz test for a moment
	@for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
	    echo "fuzz $$pkg $$target"; \
	    $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime '$(FUZZTIME)' "$$pkg"; \
	  done; \
	done

tour: ## record the dashboard's tour anew, into docs/tour; needs tmux and port 8080
	$(GO) run ./scripts/tour -out docs/tour

ci: ## what CI runs
	.ci/run

release-check: ## a release as goreleaser makes it, not published, and a look at what comes out
	./scripts/release-check.sh

clean: ## remove what the targets made
	rm -rf bin dist coverage.out
