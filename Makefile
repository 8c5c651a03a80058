# The two commands of the README are 'make demo' and 'make test'.

GO ?= go
JAVA_NEEDS = default-jre-headless:java zookeeper:/usr/share/java/zookeeper.jar
DRIVER_NEEDS = default-jdk-headless:javac libcurator-recipes-java:/usr/share/java/curator-recipes.jar \
	libzookeeper-java:/usr/share/java/zookeeper-recipes-lock.jar \
	libjackson2-databind-java:/usr/share/java/jackson-databind.jar python3-kazoo:/usr/lib/python3/dist-packages/kazoo \
	redis-server:redis-server etcd-server:etcd
RECIPES = $(addprefix ./recipes/,internal/znode lock semaphore queue barrier election commit membership counter setting published)
TEST_NEEDS = $(JAVA_NEEDS) libhdrhistogram-java:/usr/share/java/hdrhistogram.jar $(DRIVER_NEEDS) \
	chromium:chromium prometheus:promtool prometheus:prometheus tmux:tmux groff-base:groff libxml2-utils:xmllint \
	debian-archive-keyring:/usr/share/keyrings/debian-archive-keyring.gpg

.PHONY: demo build drivers image generator-image test test-all manifests long defects clean-runs bench screenshot mutants results dist dist-check check clean

demo: build ## install what is missing and run the quickstart profile on three servers started for the run
	@scripts/need $(JAVA_NEEDS) || docker version >/dev/null 2>&1 || exit 1 # with Docker alone, the run takes containers
	./bin/zkbench run quickstart

build: ## build ./bin/zkbench
	$(GO) build -o bin/zkbench ./cmd/zkbench

drivers: build ## install the libraries of the profile libraries, build the drivers that are written in Go beside ./bin/zkbench, and compile those in Java
	@scripts/need $(JAVA_NEEDS) $(DRIVER_NEEDS)
	drivers/curator/driver.sh compile
	drivers/zookeeper-recipes/driver.sh compile
	$(GO) build -o bin/zkbench-driver-null ./drivers/null
	$(GO) build -o bin/zkbench-driver-go-zookeeper ./drivers/go-zookeeper
	$(GO) build -o bin/zkbench-driver-recipes ./drivers/recipes
	cd drivers/redis && $(GO) build -o ../../bin/zkbench-driver-redis . # modules of their own, whose libraries zkbench does not carry
	cd drivers/etcd && $(GO) build -o ../../bin/zkbench-driver-etcd .

image: ## build the image zkbench/zookeeper:3.8.0 from Debian's packages, for Docker without a registry; RELEASE=trixie: 3.9.3
	@scripts/need mmdebstrap:mmdebstrap debian-archive-keyring:/usr/share/keyrings/debian-archive-keyring.gpg
	@compose/image/build

generator-image: ## build the image zkbench/zkbench of the load generator, from the binary alone
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w' -o compose/generator/zkbench ./cmd/zkbench
	docker build --quiet --tag zkbench/zkbench compose/generator

# The two tiers: 'make test' is 'go test -short', whose long tests package tier has skipped. The race detector runs in the short tier where sessions,
# goroutines and their locks are, but not above package bench, whose second compilation alone would take a fifteenth of the time; and in the long
# one everywhere but in the simulations of capacity and in large files, which are arithmetic. GOGC: compilers and tests take a sixth less CPU time;
# tests of the long tier do not get it, because some measure memory.
CONCURRENT = ./zk/... $(RECIPES) ./metrics ./drivers ./bench/fleet ./ensemble/proxy
TESTS = bin/tools/testlog
LONG = -exec "env -u GOGC" -vet=off -timeout 60m
export GORACE = suppressions=$(CURDIR)/zk/gozk/testdata/races
SLOW = ./cmd/zkbench/command ./bench ./scenarios/published ./recipes ./recipes/broken ./workloads # these take longest, and start first

test: ## prove in at most 8 minutes that zkbench works here: install what that needs, and run the short tier of all tests
	@scripts/need $(JAVA_NEEDS) gcc:gcc libc6-dev:/usr/include/stdlib.h
	@$(GO) build -C tools -o ../bin/tools/ ./testlog
	@GOGC=400 ZKBENCH_REQUIRE_PACKAGES=servers $(TESTS) \
		-p 3 -parallel 8 -short -vet=off -timeout 15m $(SLOW) $$($(GO) list ./... | grep -vxF "$$($(GO) list $(CONCURRENT) $(SLOW))") -- \
		-p 3 -parallel 8 -race -short -vet=off -timeout 15m $(CONCURRENT) -- \
		-C tools -short -vet=off ./...

test-all: ## install what the tests need and run all of them, with the race detector
	@scripts/need $(TEST_NEEDS) gcc:gcc libc6-dev:/usr/include/stdlib.h
	@for version in 3.4.13 3.9.3; do $(GO) run ./cmd/zkbench zookeeper fetch $$version || exit 1; done
	@if docker version >/dev/null 2>&1; then $(MAKE) --no-print-directory image; else echo "no Docker here: servers in containers are not tested"; fi
	@$(GO) build -C tools -o ../bin/tools/ ./testlog
	@GOGC=400 ZKBENCH_REQUIRE_PACKAGES=1 $(TESTS) \
		$(LONG) -p 3 -parallel 5 -race $(SLOW) ./zk/... ./... -- \
		$(LONG) ./capacity ./traffic -- \
		-C tools $(LONG) -race ./... -- \
		-C drivers/redis $(LONG) -race ./... -- \
		-C drivers/etcd $(LONG) -race ./... \
		$$(for version in 3.4.13 3.9.3; do echo "-- ZOOKEEPER_HOME=$$($(GO) run ./cmd/zkbench zookeeper fetch $$version | tail -n 1) \
			-race -short -vet=off -timeout 60m ./recipes"; done)

manifests: ## have the API server's own code read what 'zkbench fleet kubernetes' prints; not in 'make test-all', because it takes minutes to compile the first time
	cd compose/kubernetes && $(GO) vet . && $(GO) test -count=1 .

defects: ## run every deliberately broken recipe as a user would; 'make test-all' runs one for each check of each workload, 'make test' one for each check
	@scripts/need $(JAVA_NEEDS)
	$(GO) test -timeout 60m -run TestDefectsThroughTheFrontDoor ./cmd/zkbench/command -v -defects

clean-runs: ## look for false alarms: RUNS runs of right recipes from number FROM on, all built-in profiles, both engines
	@scripts/need $(JAVA_NEEDS)
	$(GO) test -timeout 120m -run TestCleanRuns ./cmd/zkbench/command -v -clean-runs $(or $(RUNS),200) -clean-from $(or $(FROM),0)

long: ## tests that take minutes on a quiet machine: planted capacities on real servers, a starved generator, 10,000 watchers
	@scripts/need $(JAVA_NEEDS)
	$(GO) test -timeout 60m -run 'TestAPlantedCapacityIsFound$$|TestThePlantedSpeedIsFound$$|TestAStarved|TestTenThousandWatchers' ./cmd/zkbench/command -v -long

bench: ## the own client beside the floor and go-zookeeper/zk: ratios of medians of five alternating runs
	@scripts/need $(JAVA_NEEDS)
	$(GO) test -run '^$$' -bench . -benchtime 200ms ./zk/... ./metrics ./check ./workloads
	$(GO) build -C tools -o ../bin/tools/ ./yardstick/compare
	bin/tools/compare $(BENCHFLAGS)

screenshot: build ## draw docs/images/report.png and site.png: the tops of the page of a published result, and of the site of all
	@scripts/need chromium:chromium
	./bin/zkbench report results/published/quickstart --html bin/report.html
	./bin/zkbench report results/published/* --site bin/site
	for page in report:report site:site/index; do chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=1280,1080 \
		--screenshot=docs/images/$${page%:*}.png file://$(CURDIR)/bin/$${page#*:}.html || exit 1; done

results: build drivers ## measure again what is published, on a quiet machine (more than an hour), and bring the documents up to date; ONLY=NAME,... for some of them
	@scripts/need $(TEST_NEEDS)
	$(GO) build -C tools -o ../bin/tools/ ./results
	bin/tools/results $(if $(ONLY),-only $(ONLY))
	$(GO) test -count=1 . -run 'TestDocumentsShowThePublishedRuns|TestTheIndexOfResults' -update
	$(GO) test -count=1 . -run 'TestResultsAndTheCode' -current $(if $(ONLY),|| true)
	@$(MAKE) --no-print-directory screenshot

mutants: ## change the code of recipes, checks and the client in small ways and tell which changes no test notices (an hour or more)
	@scripts/need $(TEST_NEEDS) gcc:gcc libc6-dev:/usr/include/stdlib.h
	$(GO) build -C tools -o ../bin/tools/ ./mutants
	bin/tools/mutants $(MUTANTFLAGS) ./check
	bin/tools/mutants -tests ./recipes/broken $(MUTANTFLAGS) ./recipes $(RECIPES)
	bin/tools/mutants $(MUTANTFLAGS) ./zk/wire ./internal/jute

dist: ## build a release of the last commit into dist/: binaries, Debian packages, images, checksums, the list of modules (docs/install.md)
	$(GO) build -C tools -o ../bin/tools/ ./dist
	bin/tools/dist $(DISTFLAGS)

dist-check: build ## build a release twice, compare the bytes, install the package in a fresh root and run quickstart there; not in 'make test-all'
	@scripts/need $(JAVA_NEEDS) mmdebstrap:mmdebstrap debian-archive-keyring:/usr/share/keyrings/debian-archive-keyring.gpg
	$(GO) build -C tools -o ../bin/tools/ ./dist
	scripts/dist-check $(TARGETS)

check: ## formatting and static checks
	@unformatted=$$(gofmt -l .); [ -z "$$unformatted" ] || { echo "gofmt: $$unformatted"; exit 1; }
	$(GO) vet ./...
	for system in darwin windows; do GOOS=$$system $(GO) vet ./cmd/zkbench || exit 1; done
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	for module in tools drivers/redis drivers/etcd; do (cd $$module && $(GO) vet ./... && $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...) || exit 1; done

clean: ## remove what was built
	rm -rf bin dist compose/generator/zkbench
