# SPDX-License-Identifier: Apache-2.0
# Everything that a person or CI does here is one target; `make help` lists them.
#
# System packages come from Debian (tools/system_packages.sh), Python packages from PyPI into
# private environments under .venv/VERSION, one for each supported Python that is found. One wheel is
# built, by the oldest of them, and installed into all: it is the same stable-ABI extension.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SECONDARY:

# Interpreters to test on, oldest first. Looked up once the system packages are there.
PYTHONS = $(or $(PYTHONS_FOUND),$(eval PYTHONS_FOUND := $(shell tools/find_pythons.sh))$(PYTHONS_FOUND))
version = $(patsubst python%,%,$(notdir $(1)))
FIRST = $(call version,$(firstword $(PYTHONS)))
VENV = .venv/$(FIRST)
# Build tools of the environment first: Debian's meson can be too old.
TOOLS = PATH="$(CURDIR)/$(VENV)/bin:$$PATH"
SOURCES := $(shell find src dew man -type f) meson.build meson.options pyproject.toml README.md tools/html_page.py
PYTEST_ARGS ?=

.PHONY: help demo test test-native dev fmt lint asan fuzz bench clean system-build system-test system-lint

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

system-build system-test system-lint: system-%:
	@tools/system_packages.sh build $(filter-out build,$*)
	@test -n "$(firstword $(PYTHONS))" || { echo "no Python 3.11, 3.12 or 3.13 with venv and headers was found" >&2; exit 1; }

# --- environments ---------------------------------------------------------------------------------

.venv/%/.tools: pyproject.toml | system-build
	@echo "Preparing the Python $* environment (a minute, once)"
	@python=$$(tools/find_pythons.sh | grep "python$*$$"); "$$python" -m venv .venv/$*
	@.venv/$*/bin/python -m pip install --quiet --disable-pip-version-check \
	  "meson >= 1.8" "meson-python >= 0.17" ninja
	@touch $@

build/wheel/.built: $(SOURCES) | system-build
	@$(MAKE) --no-print-directory .venv/$(FIRST)/.tools
	@echo "Building the wheel"
	@rm -rf build/wheel && mkdir -p build/wheel
	@$(TOOLS) $(VENV)/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps \
	  --no-build-isolation -Cbuild-dir=build/release -w build/wheel .
	@touch $@

# .venv/3.12/.demo, .venv/3.12/.test ...: the wheel with what its extra of that name needs.
define environment
.venv/%/.$(1): build/wheel/.built
	@$(MAKE) --no-print-directory .venv/$$*/.tools
	@echo "Installing the wheel and what '$(1)' needs for Python $$*"
	@wheel=$$$$(ls build/wheel/*.whl); \
	  .venv/$$*/bin/python -m pip install --quiet --disable-pip-version-check "$$$$wheel[$(1)]"; \
	  .venv/$$*/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall "$$$$wheel"
	@touch $$@
endef
$(foreach extra,demo test lint,$(eval $(call environment,$(extra))))

# --- what people do -------------------------------------------------------------------------------

demo: system-build ## set everything up, train a small network under the profiler, show the result
	@$(MAKE) --no-print-directory .venv/$(FIRST)/.demo
	@$(VENV)/bin/python examples/train.py --profile build/demo
	@echo; $(VENV)/bin/dew-profile summary build/demo
	@printf '\nNext:\n'
	@printf '  %s\n    %s\n' \
	  '$(VENV)/bin/dew-profile summary --html build/demo.html build/demo' 'the same as a page for the browser' \
	  '$(VENV)/bin/xprof --logdir build/demo' "XProf's own pages, all of them, in the browser"

test: system-test ## set everything up, run the unit tests and pytest on every supported Python found
	@$(MAKE) --no-print-directory test-native
	@for python in $(PYTHONS); do \
	  v=$${python##*python}; \
	  $(MAKE) --no-print-directory .venv/$$v/.test; \
	  echo "pytest on Python $$v"; \
	  PATH="$(CURDIR)/.venv/$$v/bin:$$PATH" .venv/$$v/bin/python -m pytest $(PYTEST_ARGS); \
	done

# The C layers' own tests and the fuzz corpora, from a build that keeps assertions.
test-native: system-test
	@$(MAKE) --no-print-directory .venv/$(FIRST)/.tools
	@$(TOOLS) tools/meson_build.sh build/unit -Dtests=enabled -Dbuildtype=debugoptimized
	@$(TOOLS) meson test -C build/unit --print-errorlogs --quiet

dev: system-test ## an incremental build under build/dev, with how to use it
	@$(MAKE) --no-print-directory .venv/$(FIRST)/.test
	@$(TOOLS) tools/meson_build.sh build/dev -Dtests=enabled --werror
	@echo "Built. Run tests on it without installing:"
	@echo "  PYTHONPATH=build/dev DEW_PROFILE_PROGRAM=build/dev/src/cli/dew-profile $(VENV)/bin/python -m pytest"

fmt: system-lint ## format C and Python
	@$(MAKE) --no-print-directory .venv/$(FIRST)/.lint
	@git ls-files '*.c' '*.h' | xargs clang-format -i
	@$(VENV)/bin/ruff format --quiet . && $(VENV)/bin/ruff check --quiet --fix .

lint: system-lint ## formatting, layers, warnings as errors with gcc and clang, clang-tidy, ruff, mypy
	@$(MAKE) --no-print-directory .venv/$(FIRST)/.lint
	@$(TOOLS) tools/lint.sh

asan: system-lint ## the C tests, and the program over real captures, under ASan and UBSan
	@$(MAKE) --no-print-directory .venv/$(FIRST)/.test
	@$(TOOLS) tools/asan.sh

fuzz: system-lint ## run the fuzzers for FUZZ_SECONDS each (default 120)
	@$(MAKE) --no-print-directory .venv/$(FIRST)/.tools
	@$(TOOLS) tools/fuzz.sh $${FUZZ_SECONDS:-120}

bench: system-test ## every speed and memory promise, both sides, as ratios (BENCH_ARGS=--quick)
	@$(MAKE) --no-print-directory .venv/$(FIRST)/.test
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m bench $(BENCH_ARGS)

clean: ## remove everything that was built and installed here
	rm -rf build .venv
