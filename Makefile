# The two commands of the README are 'make demo' and 'make test'.

GO ?= go
JAVA_NEEDS = default-jre-headless:java zookeeper:/usr/share/java/zookeeper.jar
TEST_NEEDS = $(JAVA_NEEDS) libhdrhistogram-java:/usr/share/java/hdrhistogram.jar default-jdk-headless:javac \
	libcurator-recipes-java:/usr/share/java/curator-recipes.jar python3-kazoo:/usr/lib/python3/dist-packages/kazoo

.PHONY: demo build image generator-image test bench check clean

demo: build ## install what is missing and run the quickstart profile on three servers started for the run
	@scripts/need $(JAVA_NEEDS) || docker version >/dev/null 2>&1 || exit 1 # with Docker alone, the run takes containers
	./bin/zkbench run quickstart

build: ## build ./bin/zkbench
	$(GO) build -o bin/zkbench ./cmd/zkbench

image: ## build the image zkbench/zookeeper:3.8.0 from Debian's packages, for Docker without a registry
	@scripts/need mmdebstrap:mmdebstrap debian-archive-keyring:/usr/share/keyrings/debian-archive-keyring.gpg
	@compose/image/build

generator-image: ## build the image zkbench/zkbench of the load generator, from the binary alone
	CGO_ENABLED=0 $(GO) build -trimpath -o compose/generator/zkbench ./cmd/zkbench
	docker build --quiet --tag zkbench/zkbench compose/generator

test: ## install what the tests need and run all of them, race detector on
	@scripts/need $(TEST_NEEDS) gcc:gcc libc6-dev:/usr/include/stdlib.h
	@if docker version >/dev/null 2>&1; then $(MAKE) --no-print-directory image; else echo "no Docker here: servers in containers are not tested"; fi
	$(GO) test -race -timeout 30m ./...

bench: ## the own client beside the floor and go-zookeeper/zk: ratios of medians of five alternating runs
	@scripts/need $(JAVA_NEEDS)
	$(GO) test -run '^$$' -bench . -benchtime 200ms ./zk ./metrics ./check ./workloads
	$(GO) run ./internal/yardstick/compare $(BENCHFLAGS)

check: ## formatting and static checks
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

clean: ## remove what was built
	rm -rf bin compose/generator/zkbench
