# Coffer. Needs npm 9.2 or newer with the Node that it comes with, and make; everything else comes with `npm ci`, the pinned Node included.
# Tests: tools/tests.ts. More commands, such as `npm run soak`: package.json.

NODE := tools/node
BIN := node_modules/.bin
PACKAGES := node_modules/.package-lock.json
SOURCES := $(shell find boot firmware tools/build.ts tools/build-chat-page.ts tools/build-console.ts tools/build-command.ts tools/coffer -name '*.ts' -o -name '*.tsx' -o -name '*.css' -o -name '*.html' -o -name '*.svg') package.json

.PHONY: help run cluster build image deb oci qemu test test-all lint attack bench clean
.DELETE_ON_ERROR:

help:
	@echo 'make run       start Coffer on https://127.0.0.1:8443 (settings: firmware/configuration/README.md)'
	@echo 'make cluster   start three on this computer, to be made one cluster: firmware/cluster/README.md'
	@echo 'make build     bundle dist/boot.js, firmware.js, chat.js, outgoing.js, worker.js, and the command, dist/coffer.mjs'
	@echo 'make image     disk image, update image and list of parts of a device in dist/; ARCH=arm64 for that machine'
	@echo 'make deb       package for Debian and its like in dist/, with a service of systemd; ARCH=arm64'
	@echo 'make oci       image for Docker, Podman and Kubernetes in dist/, made without them; ARCH=arm64'
	@echo 'make qemu      run it as a device in QEMU, the same one each time; a new one with FRESH=1'
	@echo 'make test      run the tests that take minutes; a test that lacks a program is skipped and listed with it'
	@echo 'make test-all  run every test, the long ones and those of devices in QEMU included (an hour)'
	@echo 'make lint      check format, style, types and imports'
	@echo 'make attack    attack Coffer as hostile clients and servers would (three minutes)'
	@echo 'make bench     measure all that tools/bench/README.md says, and draw its chart (seventy minutes, nothing else running);'
	@echo '               BEFORE=commit also compares with that version, side by side'
	@echo 'make clean     remove what was built and installed; the data in var/ stays'

run: dist/firmware.js
	@exec $(NODE) dist/boot.js

cluster: dist/firmware.js
	@exec $(NODE) tools/cluster.ts var/cluster

build: dist/firmware.js

ARCH ?= x64
# Releases are signed with the RELEASE_KEY that is kept for them, other images with one that is made here. The public half and the
# published update image, RELEASE=coffer-1.2.0.update, make the same image again, to compare.
RELEASE_KEY ?= var/development.key
IMAGE = dist$(if $(filter-out x64,$(ARCH)),/$(ARCH))
image: $(PACKAGES) $(RELEASE_KEY)
	$(NODE) image/build.ts --arch $(ARCH) --release-$(if $(filter %.pub,$(RELEASE_KEY)),,signing-)key $(RELEASE_KEY) \
	  $(if $(RELEASE),--release $(RELEASE)) $(if $(SECURE_BOOT_KEYS),--secure-boot-keys $(SECURE_BOOT_KEYS)) --output $(IMAGE)

deb oci: $(PACKAGES)
	$(NODE) image/host/build.ts $@ --arch $(ARCH) --output dist

var/development.key:
	@mkdir -p var
	$(NODE) tools/release-key.ts var/development
	@echo 'Images are signed with this key, which is for development, unless RELEASE_KEY names another one.'

# A new device is flashed with an image of the sources as they are; an existing one goes on with what it has.
PORT ?= 8443
CHAT_PORT ?= 9443
MEMORY ?= 512
VERSION = $(shell $(NODE) -p 'require("./package.json").version')
qemu: $(PACKAGES) $(if $(FRESH),image,$(if $(wildcard var/qemu/disk.img),,image))
	@exec $(NODE) tools/qemu.ts --arch $(ARCH) --port $(PORT) --chat-port $(CHAT_PORT) --memory $(MEMORY) $(if $(FRESH),--fresh) $(if $(TPM),--tpm) \
	  $(IMAGE)/coffer-$(VERSION).img var/qemu

# TESTS has options of the runner: `npm test -- --help` lists them.
test: $(PACKAGES)
	$(NODE) tools/tests.ts $(TESTS)

test-all: $(PACKAGES)
	$(NODE) tools/tests.ts --short --long --device $(TESTS)

lint: $(PACKAGES)
	$(NODE) $(BIN)/biome check --error-on-warnings
	$(NODE) $(BIN)/tsc -p .
	$(NODE) $(BIN)/tsc -p firmware/console
	$(NODE) $(BIN)/tsc -p firmware/chat-page
	$(NODE) $(BIN)/tsc -p test/console
	$(NODE) $(BIN)/tsc -p test/chat/page
	$(NODE) tools/imports.ts
	$(NODE) tools/words.ts

# CI shares its computer: there the speed of valid clients decides nothing.
attack: $(PACKAGES)
	$(NODE) tools/bounded.ts 30 $(NODE) tools/attack/main.ts $(if $(CI),--untimed)

bench: $(PACKAGES)
	$(NODE) tools/bench/all.ts $(if $(BEFORE),--before=$(BEFORE))

clean:
	rm -rf dist node_modules coverage .venv .zulip-js .node-vault .go-clients .nodes .openssl .syslog-ng .vectors

dist/firmware.js: $(PACKAGES) $(SOURCES)
	$(NODE) tools/build.ts

# npm writes this file last. Its warnings are about the Node that runs npm, not the one that runs the packages.
$(PACKAGES): package-lock.json
	@case $$(npm --version 2> /dev/null) in ''|[0-8].*|9.[01].*) \
	  echo 'Coffer needs npm 9.2 or newer, with the Node that it comes with. On Debian 12 or newer: apt install npm' >&2; exit 1;; esac
	@echo 'npm fetches the packages: about a minute. Without a network it tries for some minutes before it says so.'
	npm ci --loglevel=error
	@touch $@
