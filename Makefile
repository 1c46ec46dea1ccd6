# Coffer. Needs npm with Node 20 or newer, and make; everything else, the pinned Node included, comes with `npm ci`.

BIN := node_modules/.bin
NODE := $(BIN)/node
SOURCES := $(shell find boot firmware tools/build.ts -name '*.ts') package.json

.PHONY: help run test build lint bench clean
.DELETE_ON_ERROR:

help:
	@echo 'make run    start Coffer on https://127.0.0.1:8443 (settings: see README.md)'
	@echo 'make test   run every test'
	@echo 'make build  bundle dist/boot.js and dist/firmware.js'
	@echo 'make lint   check format, style and types'
	@echo 'make bench  print how unlocking scales with the number of keys, and what the audit log costs'
	@echo 'make clean  remove what was built and installed; the data in var/ stays'

run: dist/firmware.js
	@exec $(NODE) dist/boot.js

test: node_modules/.package-lock.json
	PATH="$(CURDIR)/$(BIN):$$PATH" $(NODE) --test --test-concurrency=2 'test/**/*.test.ts'

build: dist/firmware.js

lint: node_modules/.package-lock.json
	$(NODE) $(BIN)/biome check --error-on-warnings
	$(NODE) $(BIN)/tsc -p .

bench: node_modules/.package-lock.json
	$(NODE) tools/bench/unlock.ts
	$(NODE) tools/bench/audit.ts

clean:
	rm -rf dist node_modules coverage .venv

dist/firmware.js: node_modules/.package-lock.json $(SOURCES)
	$(NODE) tools/build.ts

# npm writes this file last; it is older than the lock when the lock has changed since.
node_modules/.package-lock.json: package-lock.json
	npm ci
	@touch $@
