# `make help` lists the targets. `make demo` and `make test` set up whatever they need, on a fresh
# machine too (Debian or Ubuntu as root; elsewhere install what `make packages` names), and can be
# run again at any time.
SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PYTEST := $(PY) -m pytest -q
BUILD := build
# Where tests and the suite commands find the parts of a lane.
export GRADEKEEPER_LANES := $(CURDIR)/build/lanes
# Debian packages: the compiler and library of laned, the JDK of the first lane, the sandbox of the
# local engine. The test cluster names and installs its own.
PACKAGES := python3-venv gcc make libc6-dev libseccomp-dev pkg-config openjdk-17-jdk-headless bubblewrap shellcheck

# cluster-up, cluster-down, cluster-status; HELM and KUBECONFIG of the cluster in use
include tests/cluster/cluster.mk

.PHONY: help
help: ## this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- set-up ---------------------------------------------------------------------------------------
.PHONY: setup packages
setup: packages $(VENV)/.installed ## virtual environment with locked dependencies, Debian packages

packages: ## install the Debian packages that are missing (as root), or name them
	@missing=""; for package in $(PACKAGES); do \
	  [ "$$(dpkg-query -W -f='$${db:Status-Status}' $$package 2>/dev/null)" = installed ] || missing="$$missing $$package"; done; \
	[ -n "$$missing" ] || exit 0; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then \
	  echo "installing$$missing"; export DEBIAN_FRONTEND=noninteractive; \
	  { apt-get -qq update && apt-get -qq install -y --no-install-recommends $$missing; } >/dev/null </dev/null; \
	else echo "please install what these Debian packages hold:$$missing" >&2; \
	  command -v javac gcc >/dev/null; fi

# verifiers has an environment of its own: nothing of it may get into the operator's.
ENV_VENV := $(BUILD)/env-venv
$(ENV_VENV)/.installed: requirements/env.txt requirements/build.txt pyproject.toml env/gradekeeper_verifiers/pyproject.toml \
  env/billing_payment_debug/pyproject.toml
	[ -x $(ENV_VENV)/bin/python ] || $(PYTHON) -m venv $(ENV_VENV)
	$(ENV_VENV)/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements/build.txt
	$(ENV_VENV)/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements/env.txt
	$(ENV_VENV)/bin/pip install -q --disable-pip-version-check --no-index --no-deps --no-build-isolation \
	  -e . -e env/gradekeeper_verifiers -e env/billing_payment_debug
	@touch $@

$(VENV)/.installed: requirements/dev.txt requirements/build.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=...")'
	[ -x $(PY) ] || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements/build.txt
	$(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(PY) -m pip install -q --disable-pip-version-check --no-index --no-deps --no-build-isolation -e .
	@touch $@

# --- what is built --------------------------------------------------------------------------------
.PHONY: lanes images manifests crds billing-docs lock
lanes: ## laned, its probe, the Java kit and class data of this JDK's compiler, in build/lanes
	$(MAKE) --no-print-directory -C lanes OUT=$(CURDIR)/$(BUILD)/lanes local

images: setup lanes ## operator, referee, lane and suite images, loaded into the cluster
	$(PY) -m demo images

manifests: setup helm ## render manifests/ from the chart
	$(PY) charts/manifests.py --helm $(HELM) manifests

crds: setup ## write the chart's CRDs from the models
	$(PY) -m gradekeeper.api.crds charts/gradekeeper/crds

billing-docs: setup ## write the tables of docs/billing from catalog, suite and scoring
	PYTHONPATH=env/billing_payment_debug $(PY) docs/billing/tables.py

UV_COMPILE = $(BUILD)/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock"
lock: ## renew requirements/*.txt
	[ -x $(BUILD)/uv/bin/uv ] || { $(PYTHON) -m venv $(BUILD)/uv && $(BUILD)/uv/bin/pip install -q uv; }
	$(UV_COMPILE) --upgrade pyproject.toml -o requirements/operator.txt
	$(UV_COMPILE) --upgrade --extra dev pyproject.toml -c requirements/operator.txt -o requirements/dev.txt
	$(UV_COMPILE) --upgrade requirements/build.in -o requirements/build.txt
	$(UV_COMPILE) --upgrade --extra test --no-emit-package gradekeeper \
	  env/gradekeeper_verifiers/pyproject.toml -c requirements/operator.txt -o requirements/env.txt

# --- demo -----------------------------------------------------------------------------------------
.PHONY: demo demo-run demo-local
# LOCAL=1: what the submissions alone decide, without a cluster
DEMO_STEPS := $(if $(filter-out 0,$(LOCAL)),demo-local,cluster-up images demo-run)
demo: ## ten submissions, from a cluster to verified verdicts; LOCAL=1: without a cluster
	@$(PYTHON) tests/steps.py --title "make demo" setup lanes $(DEMO_STEPS)

demo-local: # the part of the demo that needs no cluster
	$(PY) -m demo.local

demo-run: # what is left to do once everything is there
	$(PY) -m demo run

# --- checks ---------------------------------------------------------------------------------------
.PHONY: env-test env-e2e self-check test lint unit lanes-test referee suites contract crd chart e2e matrix isolation starved mutants corpus fuzz bench
test: ## everything: lint, unit, contract, lanes, chart, CRDs, verifiers, and what only a real cluster shows
	@$(PYTHON) tests/steps.py --title "make test" setup lanes -- \
	  lint unit contract chart referee suites env-test cluster-up crd e2e isolation env-e2e matrix starved

lint: ## ruff, mypy --strict, import-linter, yamllint, shellcheck
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(PY) -m mypy
	MYPYPATH=tests $(PY) -m mypy charts/manifests.py tests/steps.py tests/bench/bench.py tests/corpus/__main__.py docs/billing/tables.py
	PYTHONPATH=env/billing_payment_debug $(VENV)/bin/lint-imports --config pyproject.toml
	$(VENV)/bin/yamllint --strict -c .yamllint.yaml manifests charts/gradekeeper/values.yaml charts/gradekeeper/examples assets/suites docs/examples
	shellcheck $$(git ls-files '*.sh' '.ci/run')

unit: ## pure parts, and a few seconds of each fuzzer
	$(PYTEST) tests/unit tests/fuzz

env-test: $(ENV_VENV)/.installed lanes ## verifiers on Kubernetes and the billing environment, against servers on loopback
	$(ENV_VENV)/bin/python -m pytest -q -m "not cluster" tests/env

env-e2e: $(ENV_VENV)/.installed images ## the same on the cluster: boxes, and evaluations whose boxes fail in all ways
	$(ENV_VENV)/bin/python -m pytest -q -m cluster tests/env

self-check: $(ENV_VENV)/.installed images lanes ## every billing scenario as an agent in a box on the cluster, to its reward; goes on where it was interrupted (ARGS="SCENARIO… --local")
	PYTHONPATH=tests:. $(ENV_VENV)/bin/python -m env.self_check $(ARGS)

contract: ## the operator's real kopf against a fake API server
	$(PYTEST) tests/contract

chart: helm ## what the chart renders and refuses
	HELM=$(HELM) $(PYTEST) tests/chart

referee: lanes ## laned, the lane's kit, the referee against them, and attacks on all three
	$(PYTEST) tests/lanes tests/referee tests/redteam

suites: lanes ## the suites' own checks, by the local engine
	$(PYTEST) tests/suites

crd: ## the CRDs' rules on the real API server
	$(PYTEST) tests/crd

e2e: images ## the demo's jobs and what they may not do, on the cluster
	$(PYTEST) tests/e2e

matrix: images ## what befalls the platform is no score, what a submission does is no error; the table at the end
	$(PYTEST) -p no:randomly tests/matrix

starved: images ## neighbours that burn the node fail nobody; a submission that burns it is scored
	$(PYTEST) -p no:randomly tests/starved

isolation: images ## each hardening of a grading Pod switched off: nothing is graded then
	$(PYTEST) tests/isolation

mutants: setup lanes ## break the code in many places: a test must turn red each time
	PYTHONPATH=tests $(PY) -m mutants $(FLIPS)

corpus: setup lanes ## grade repairs known to be wrong or right, three times each: how often the grading is fooled; goes on where it was interrupted (ARGS="WORD… --times 1 --whole")
	PYTHONPATH=tests $(PY) -m corpus --page docs/billing/corpus.md $(ARGS)

FUZZ_WORK = $(BUILD)/fuzz
fuzz: SECONDS = 60
fuzz: TARGETS =
fuzz: PACKAGES += clang libclang-rt-dev
fuzz: setup ## every fuzzer for SECONDS=60, one after another; TARGETS="archive laned" for some
	$(PY) tests/fuzz/campaign.py --seconds $(SECONDS) --work $(FUZZ_WORK) $(TARGETS)

# PARTS="sequential repeats": these need no cluster
PARTS =
BENCH_CLUSTER := $(if $(and $(PARTS),$(if $(filter-out sequential repeats,$(PARTS)),,local)),,cluster-up images)
BENCH_ENV := $(if $(and $(PARTS),$(if $(filter rollouts,$(PARTS)),,none)),,$(ENV_VENV)/.installed)
bench: setup lanes $(BENCH_CLUSTER) $(BENCH_ENV) ## latency, churn, where time goes, rollouts, agreement; PARTS="sequential repeats" for some
	$(PY) tests/bench/bench.py $(PARTS) --out $(BUILD)/bench

.PHONY: clean
clean: ## what was built in the checkout; the cluster and its cache stay (cluster-down)
	rm -rf $(BUILD) dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
