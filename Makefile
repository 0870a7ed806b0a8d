# Everything here needs python3 (3.11 or newer), pip and make; each target prepares .venv by itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN_READY := $(VENV)/.run-ready
DEV_READY := $(VENV)/.dev-ready
# The lock files are complete: pip resolves nothing, so a release made after them cannot break an installation.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
# Hypothesis goes on after a time-out, to shrink; a test that never ends is ended with its worker.
END_HANGING := -o faulthandler_timeout=1200 -o faulthandler_exit_on_timeout=true
LLM_URL ?=
SAMPLE ?=
SCALE ?= 1000000
ENGINES ?=
PEERS ?=
GROWTH ?=
SIZES ?=
JOURNAL ?=
PART ?= tests/durability tests/storage tests/jobs/test_kill_worker.py tests/mcp/test_relay.py \
	tests/integrations/test_many_sessions.py tests/safety/test_secrets_on_disk.py
LLM ?= $(if $(LLM_URL),openai:local)

.DEFAULT_GOAL := help
.PHONY: help demo test check site screenshots bench torture bench-scale bench-peers bench-growth bench-dashboard eval eval-retrieval eval-delivery eval-learning eval-attack eval-consolidation eval-loop eval-calibration guarantees transcripts reference lock clean eval-credit eval-recipes eval-votes eval-worth

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{printf "%-24s %s\n", $$1, $$2}'

demo: $(RUN_READY) ## two sessions of a scripted agent with real commands, hooks and server; the second does better
	$(BIN)/rbank demo

test: $(DEV_READY) ## the tests alone
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(END_HANGING) tests

check: $(DEV_READY) ## format, lint, strict types (Linux, macOS, Windows), import contracts, and the tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin src
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 src
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(END_HANGING) tests

site: $(DEV_READY) ## the pages of docs/ as a site in build/site, which needs no network
	$(BIN)/zensical build --clean --strict

screenshots: $(DEV_READY) ## take the pictures of docs/images anew, in a real browser
	$(BIN)/python -m pytest tests/web/test_dashboard_pages.py -k desktop
	mkdir -p docs/images
	for page in memory graph; do cp build/screenshots/$$page-desktop.png docs/images/dashboard-$$page.png; done

bench: $(DEV_READY) ## speed and memory, printed as ratios measured in one run
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest benchmarks --benchmark-only -o addopts="-q -p no:cacheprovider" -s
	$(BIN)/python benchmarks/bench_initialize.py
	$(BIN)/python benchmarks/bench_windows.py
	$(BIN)/python benchmarks/bench_http.py

bench-peers: $(DEV_READY) ## the same work here and in other memories, which are installed from the package index; PEERS="--sizes 1000"
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bench_peers.py --write build/peers.json $(PEERS)

bench-dashboard: $(DEV_READY) ## each page of the dashboard, quiet and just after a write; SIZES="10000 100000"
	OMP_NUM_THREADS=1 PYTHONPATH=tests:benchmarks $(BIN)/python benchmarks/bench_dashboard.py $(SIZES)

bench-growth: $(DEV_READY) ## what grows with a bank and with a session; GROWTH="--sizes 1000 1000000"
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bench_growth.py --write build/growth.json $(GROWTH)

bench-scale: $(DEV_READY) ## a million memories in each engine, and eight servers on one database; SCALE=100000 for fewer
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/bench_scale.py --memories $(SCALE) --write build/scale.json $(ENGINES)

torture: $(DEV_READY) ## kills, damage, power cuts and secrets many times over, written into docs/reliability.md; PART=... runs a part
	$(BIN)/python -m pytest --torture --torture-record docs/reliability.json --timeout 0 -s $(PART)
	$(BIN)/python tools/write_reliability.py

eval: $(DEV_READY) ## every evaluation, one after the other, on one page: build/eval.html; EVAL="credit votes" runs some
	PYTHONPATH=benchmarks $(BIN)/python -m evaluation.all --page build/eval.html $(if $(EVAL),--only $(EVAL))

eval-retrieval: $(DEV_READY) ## how well search finds, all legs and fusions, with intervals
	OMP_NUM_THREADS=1 PYTHONPATH=benchmarks $(BIN)/python -m evaluation.retrieval

eval-delivery: $(DEV_READY) ## whether an unproven lesson arrives where it is needed, and what an answer costs, with intervals
	OMP_NUM_THREADS=1 PYTHONPATH=benchmarks $(BIN)/python -m evaluation.delivery

eval-learning: $(DEV_READY) ## how well sessions become lessons, with intervals; LLM_URL=... LLM=... SAMPLE=... adds a language model
	OMP_NUM_THREADS=1 $(if $(LLM),REASONINGBANK_LLM='$(LLM)') $(if $(LLM_URL),REASONINGBANK_LLM_URL='$(LLM_URL)') \
		PYTHONPATH=benchmarks $(BIN)/python -m evaluation.learning $(if $(SAMPLE),--sample $(SAMPLE)) \
		$(if $(JOURNAL),--journal $(JOURNAL))

eval-worth: $(DEV_READY) ## what the validator keeps of recorded items, against grades given by hand, with intervals
	PYTHONPATH=benchmarks $(BIN)/python -m evaluation.worth

eval-credit: $(DEV_READY) ## what sessions do to the memory that they were shown, in scenes and a year
	OMP_NUM_THREADS=1 PYTHONPATH=benchmarks $(BIN)/python -m evaluation.credit

eval-votes: $(DEV_READY) ## what one client can say over MCP under many names, and what honest clients can, with intervals
	OMP_NUM_THREADS=1 PYTHONPATH=benchmarks $(BIN)/python -m evaluation.votes

eval-loop: $(DEV_READY) ## an agent that learns over MCP on banking77: its curve, and a picture in build/eval-loop.svg
	OMP_NUM_THREADS=1 PYTHONPATH=benchmarks $(BIN)/python -m evaluation.loop --picture build/eval-loop.svg

eval-attack: $(DEV_READY) ## the poisoning suite: what reaches an agent with the defences off and on, with intervals; an interrupted run goes on
	OMP_NUM_THREADS=1 PYTHONPATH=benchmarks $(BIN)/python -m evaluation.attacks.suite

eval-consolidation: $(DEV_READY) ## clusters of two real sets against pairs read by hand, with intervals
	OMP_NUM_THREADS=1 PYTHONPATH=benchmarks $(BIN)/python -m evaluation.consolidation

eval-calibration: $(DEV_READY) ## SC-005 and SC-006 on simulated years with known truth; pictures in build/
	OMP_NUM_THREADS=1 PYTHONPATH=benchmarks $(BIN)/python -m evaluation.calibration --pictures build

eval-recipes: $(DEV_READY) ## recipes of real sessions against grades given by hand; RECIPE_RUNS=FOLDER... adds recorded runs
	PYTHONPATH=benchmarks $(BIN)/python -m evaluation.recipes $(if $(RECIPE_RUNS),--also $(RECIPE_RUNS))

guarantees: $(DEV_READY) ## write docs/guarantees.md from the promises of the tests
	$(BIN)/python tools/write_guarantees.py

transcripts: $(DEV_READY) ## run the commands of the documentation and write their outputs of today into the pages
	$(BIN)/python tools/write_transcripts.py

reference: $(DEV_READY) ## write the reference pages and listings from the table of operations
	$(BIN)/python tools/write_reference.py

lock: ## resolve the dependencies again into requirements/*.txt (needs uv)
	PYTHON=$(PYTHON) tools/write_locks.sh

clean: ## remove the virtual environment and everything that was built
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks .import_linter_cache
	find src tests tools benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; run: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN_READY): requirements/lock.txt pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) --no-deps --require-hashes --requirement requirements/lock.txt
	$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV_READY): requirements/dev.txt requirements/agents.txt $(RUN_READY)
	$(PIP_INSTALL) --no-deps --require-hashes --requirement requirements/dev.txt
	$(PIP_INSTALL) --no-deps --require-hashes --requirement requirements/agents.txt
	@touch $@
