# The README's second command is `make test`. `make help` lists the others.

GOFUMPT     := go run mvdan.cc/gofumpt@v0.12.0
STATICCHECK := go run honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := go run golang.org/x/vuln/cmd/govulncheck@v1.9.0

# Programs that serve the repository; ./... leaves hidden folders out.
TOOLS := ./.ci/testall ./.ci/bench

# Packages that take long under the race detector (Monte Carlo, quadrature, drawing, whole
# commands, pages in a browser, formulas built to take long): they run once without it, and under it only their tests named
# ...Worker... or ...Concurrent.... Those that take longest stand first, so that none is left to run alone at the end;
# beside the first of all, which runs for as long as the others together, run the others.
NO_RACE := ./cmd/vigorlab ./cmd/vigorlab/internal/slurm ./sim/verify/... ./sim/source/live ./sim/logs ./sim/plan ./sim/train ./theory ./distributions ./sim/strategy ./sim/pilot ./plots ./sim ./sim/train/trial ./cmd/internal/browser ./distributions/fit ./sim/reward/formula ./cmd/internal/cluster

# Tests of these that mostly wait, for a cluster: they run beside all others.
WAITING := ^(TestSweepOnSlurm|TestCluster|TestKilled(Start|Caller|Namespace))$$

# Packages that wait for programs and servers, or compile: they start first.
FIRST := ./sim/reward/sandbox ./sim/reward ./sim/source/live/tinymodel ./cmd/vigorlab/internal/explore ./.ci/testall

# The README's pictures, by the names that verify gives them.
GALLERY := rung-4-speedup.png rung-4-allocation.png

FUZZTIME := 10s
OUT := out
LIVE := live
PORT := 8080

# The project's own model and its server.
TINY := sim/source/live/tinymodel

.PHONY: help test lint fmt bench golden coverage fuzz figures notebooks model live serve server-parts test-ollama vulncheck clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile

test: ## every check and every test; as root on Debian it installs what they need
	@.ci/parts
	@lint=passed; $(MAKE) --no-print-directory lint || lint=failed; \
	go run ./.ci/testall -plain '$(NO_RACE)' -waiting '$(WAITING)' -first '$(FIRST)' -also '$(TOOLS)' && tests=passed || tests=failed; \
	echo "lint $$lint, tests $$tests; make figures draws the README's pictures again"; \
	[ $$lint$$tests = passedpassed ]

lint: ## format, vet, staticcheck, direction of imports
	@bad=$$($(GOFUMPT) -l .) || exit 1; [ -z "$$bad" ] || { echo "not formatted, make fmt mends it:" $$bad; exit 1; }
	go vet ./... $(TOOLS)
	$(STATICCHECK) ./... $(TOOLS)
	go test -count=1 ./cmd/internal/arrows

fmt: ## formats every Go file
	$(GOFUMPT) -w .

bench: ## the engine, plain and fast, beside the C, NumPy and numba programs of ../shared/bench; the client of model servers beside a bare loop; code beside bare starts of Python
	go test -run '^$$' -bench Throughput -benchtime 1x ./sim/source/live
	go test -run '^$$' -bench ServedRollout -benchtime 1x ./cmd/vigorlab
	go test -run '^$$' -bench Code -benchtime 3s -cpu 1,2 ./sim/reward
	go run ./.ci/bench

golden: ## makes the golden values again (python3 with mpmath) and fails where one differs
	.ci/golden

coverage: ## 2,000 fits to counts of known laws: do intervals hold the truth, do p-values keep their level? every defect of logs in 10^5 rollouts
	VIGORLAB_COVERAGE=2000 go test -count=1 -timeout 2h -run 'TestCoverage|TestFalseAlarms|TestGeneratedLogs' -v ./distributions/fit ./sim/pilot ./sim/logs

fuzz: ## every fuzz target for FUZZTIME (10s)
	.ci/fuzz $(FUZZTIME)

figures: ## draws the README's pictures again
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	go run ./cmd/vigorlab verify --quick --quiet --only 4 --out "$$dir/out" >/dev/null && \
	go run ./cmd/vigorlab compare --strategy all --quick --quiet --out "$$dir/field" >/dev/null && \
	go run ./cmd/vigorlab train --population beta:a=0.3,b=0.7 --policy logit:floor=0.001 --strategy vigor --strategy dapo:n=8 \
		--target 0.8 --batch 16 --prompts 256 --lr 5,10,20,40 --choose-seeds 4 --quiet --out "$$dir/trained" >/dev/null && \
	go run ./cmd/vigorlab simulate --population beta:a=0.3,b=0.7 --batch 1200 --strategy fixed:g=8 --replicates 2 \
		--quiet --emit-table "$$dir/outcomes.csv" >/dev/null && \
	go run ./cmd/vigorlab import "$$dir/outcomes.csv" --quiet --out "$$dir/pilot.csv" >/dev/null && \
	go run ./cmd/vigorlab plan "$$dir/pilot.csv" --round-latency 20 --rollout-seconds 60 --concurrency 512 \
		--quiet --out "$$dir/plan" >/dev/null && \
	go run ./cmd/vigorlab simulate --population beta:a=0.3,b=0.7 --strategy vigor --strategy fixed:g=8 --replicates 400 \
		--quiet --out "$$dir/run" >/dev/null && \
	go run ./cmd/vigorlab compare --population beta:a=0.3,b=0.7 --strategy control/vigor --strategy vigor --strategy dapo:n=8 \
		--steps 16 --replicates 8 --quiet --out "$$dir/tour" >/dev/null && \
	sed -n '/^# grid.toml/,/^```/{/^```/!p}' README.md >"$$dir/grid.toml" && \
	go run ./cmd/vigorlab sweep "$$dir/grid.toml" --quiet --out "$$dir/grid" >/dev/null && \
	go run ./cmd/vigorlab plot "$$dir/grid" --y eta --heat alpha --about 1 --out "$$dir/eta.png" >/dev/null && \
	mkdir -p plots/gallery && cd "$$dir/out/figures" && cp $(GALLERY) "$(CURDIR)/plots/gallery" && \
	cp "$$dir/field/figures/ranks-progress.png" "$(CURDIR)/plots/gallery/compare-ranks-progress.png" && \
	cp "$$dir/run/figures/allocation.png" "$(CURDIR)/plots/gallery/tour-allocation.png" && \
	cp "$$dir/tour/figures/cost-quality-A.png" "$(CURDIR)/plots/gallery/tour-cost-quality.png" && \
	cp "$$dir/trained/figures/learning-rollouts.png" "$(CURDIR)/plots/gallery/train-learning-rollouts.png" && \
	cp "$$dir/plan/figures/plan.png" "$(CURDIR)/plots/gallery/pilot-plan.png" && \
	cp "$$dir/eta.png" "$(CURDIR)/plots/gallery/sweep-eta.png"

notebooks: ## executes the notebooks again, in place (Jupyter for /usr/bin/python3)
	go test -count=1 -run 'TestNotebooks$$' -timeout 30m ./cmd/vigorlab -update

model: ## trains the project's own small model again (python3-torch), and its success probabilities
	PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 $(TINY)/model/train.py
	cd $(TINY)/testdata && python3 rates.py >rates.new && mv rates.new rates.json

live: ## VIGOR on that model behind its server, one batch of rollouts, into the new folder LIVE (live); installs the server first
	@.ci/parts live
	@.ci/live '$(LIVE)'

server-parts: ## llama.cpp for the server of that model, by npm, into a folder that git ignores
	@cd $(TINY)/server && npm ci --omit=optional --ignore-scripts --no-audit --no-fund --loglevel=error

serve: ## serves that model on loopback until Ctrl-C and prints its base URL
	@node $(TINY)/server/server.mjs --port $(PORT)

test-ollama: ## the test of served success probabilities against an Ollama that runs here (OLLAMA_HOST)
	cd $(TINY) && ollama create vigorlab-arithmetic -f Modelfile
	go test -count=1 -tags ollama -run TestOllama -v ./$(TINY)

vulncheck: ## known vulnerabilities of what is imported; needs its database from the network
	$(GOVULNCHECK) ./...

clean: ## removes what these commands leave
	rm -rf $(OUT) $(LIVE) vigorlab
	go clean -testcache
