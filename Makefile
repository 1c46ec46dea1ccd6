# Coffer. Needs npm 9.2 or newer with the Node that it comes with, and make; everything else, the pinned Node included, comes with `npm ci`.

BIN := node_modules/.bin
NODE := tools/node
SOURCES := $(shell find boot firmware tools/build.ts tools/build-console.ts tools/build-command.ts tools/coffer -name '*.ts' -o -name '*.tsx' -o -name '*.css' -o -name '*.html') package.json

.PHONY: help run cluster image deb oci qemu test test-all test-short test-long test-suites test-image test-image-quick test-slow build lint attack bench soak soak-cluster ct clean
.DELETE_ON_ERROR:

help:
	@echo 'make run        start Coffer on https://127.0.0.1:8443 (settings: firmware/configuration/README.md)'
	@echo 'make cluster    start three on this computer, to be made one cluster: firmware/cluster/README.md'
	@echo 'make image      disk image, update image and list of parts of a device in dist/; ARCH=arm64 for that machine'
	@echo 'make deb        package for Debian and its like in dist/, with a service of systemd; ARCH=arm64'
	@echo 'make oci        image for Docker, Podman and Kubernetes in dist/, made without them; ARCH=arm64'
	@echo 'make qemu       run it as a device in QEMU, the same one each time; a new one with FRESH=1'
	@echo 'make test       run the tests that take minutes; what lacks a program is skipped with the words that install it'
	@echo 'make test-all   run every test, also those that take long, and all of the image under QEMU (an hour)'
	@echo 'make test-long  run those that take long; make test-image, those of the image'
	@echo 'make test-slow  the arithmetic and every parser of untrusted input for far longer (most of an hour)'
	@echo 'make build      bundle dist/boot.js, firmware.js, chat.js, worker.js, and the command, dist/coffer.mjs'
	@echo 'make lint       check format, style and types'
	@echo 'make attack     attack Coffer as hostile clients would, and say what was held off (two minutes)'
	@echo 'make bench      measure all that tools/bench/README.md says, and draw its chart (forty minutes, nothing else running);'
	@echo '                BEFORE=commit also compares with that version, side by side'
	@echo 'make soak       an hour of mixed use at half speed, with an eye on memory; MINUTES=5'
	@echo 'make soak-cluster  the same in a cluster, of which one member is a device in QEMU; as root, MINUTES=60 MEMORY=1024 KEYS=100000'
	@echo 'make ct         look for timing leaks of RSA, the curves and ML-DSA on both engines, 100,000 samples for each secret (hours)'
	@echo 'make clean      remove what was built and installed; the data in var/ stays'

run: dist/firmware.js
	@exec $(NODE) dist/boot.js

cluster: dist/firmware.js
	@exec $(NODE) tools/cluster.ts var/cluster

ARCH ?= x64
# Images of a release are made with the RELEASE_KEY that is kept for them; others with one that is made here. Its public half
# and the published update image, RELEASE=coffer-1.2.0.update, make the same again: whoever has the sources can check it.
RELEASE_KEY ?= var/development.key
IMAGE = dist$(if $(filter-out x64,$(ARCH)),/$(ARCH))
image: node_modules/.package-lock.json $(RELEASE_KEY)
	$(NODE) image/build.ts --arch $(ARCH) --release-$(if $(filter %.pub,$(RELEASE_KEY)),,signing-)key $(RELEASE_KEY) \
	  $(if $(RELEASE),--release $(RELEASE)) \
	  $(if $(SECURE_BOOT_KEYS),--secure-boot-keys $(SECURE_BOOT_KEYS)) --output $(IMAGE)

deb oci: node_modules/.package-lock.json
	$(NODE) image/host/build.ts $@ --arch $(ARCH) --output dist

var/development.key:
	@mkdir -p var
	$(NODE) tools/release-key.ts var/development
	@echo 'Images are signed with this key, which is for development, unless RELEASE_KEY names another one.'

# A new device is flashed with an image of the sources as they are; one that is there goes on with what it has.
PORT ?= 8443
MEMORY ?= 512
VERSION = $(shell $(NODE) -p 'require("./package.json").version')
qemu: node_modules/.package-lock.json $(if $(FRESH),image,$(if $(wildcard var/qemu/disk.img),,image))
	@exec $(NODE) tools/qemu.ts --arch $(ARCH) --port $(PORT) --memory $(MEMORY) $(if $(FRESH),--fresh) $(if $(TPM),--tpm) \
	  $(IMAGE)/coffer-$(VERSION).img var/qemu

# Whatever fails, hangs or is interrupted, a run ends after so many minutes, and with it all that it started.
BOUNDED = $(NODE) tools/bounded.ts
# Two files more at a time than the smallest computer has cores: those that kill, time out or ask another program mostly wait.
# LEFT_OUT=file lists those of which something was skipped; SHORT="file ..." runs these alone.
SUITES = $(BOUNDED) 60 $(NODE) tools/tests.ts $(if $(LEFT_OUT),--left-out=$(LEFT_OUT)) 4

# Those that kill it hundreds of times, fuzz, fill disks, update it again and again and go through long tables.
LONG = $(wildcard $(patsubst %,test/%.test.ts,accept/concurrency accept/forgetting accept/hostile-bodies accept/hostile-requests \
  accept/hostile-sockets accept/queue accept/rsa appliance/damage audit/kill backup/kill backup/large contract/access \
  backup/nethsm-clients boot/device/esp-repair chat/durability/* chat/hostile/* chat/process/backup chat/process/restore-kill \
  chat/process/taken-over cluster/clients cluster/join-kill cluster/mending cluster/processes cluster/replace-kill cluster/replica/faults cluster/whole \
  coffer/ca coffer/examples coffer/nodes coffer/update \
  console/large crypto/forgetting crypto/rsa crypto/rsa-sizes crypto/engine/* crypto/engine/float/* durability/* fuzz/* release/appliance \
  release/fuzz tools/soak))
SHORT = $(filter-out $(LONG),$(shell find test -name '*.test.ts' -not -path 'test/image/*' | sort))
# Those that take longest begin first, as tools/tests.ts has listed them.
FIRST = $(patsubst %,test/%.test.ts,console/large backup/kill release/appliance backup/large durability/kill accept/hostile-sockets \
  cluster/mending tools/soak coffer/examples backup/nethsm-clients contract/access cluster/join-kill cluster/members/members audit/kill \
  boot/device/esp-repair release/fuzz cluster/replica/faults cluster/processes cluster/appliance/appliance chat/clients/bridges \
  appliance/damage crypto/forgetting accept/queue boot/failed chat/process/lifecycle accept/rsa boot/process accept/concurrency \
  cluster/appliance/repair contract/process configuration/tls-wire console/states console/views console/story accept/commands \
  backup/restore boot/prompt cluster/replica/replica)
in-order = $(filter $(1),$(FIRST)) $(filter-out $(FIRST),$(1))

test: test-short test-image-quick

test-all: test-suites test-image

test-short: node_modules/.package-lock.json
	$(SUITES) $(call in-order,$(SHORT))

test-long: node_modules/.package-lock.json
	$(SUITES) $(call in-order,$(LONG))

# Both, one queue: nobody waits twice for the last files.
test-suites: node_modules/.package-lock.json
	$(SUITES) $(call in-order,$(LONG) $(SHORT))

# Those that need no machine. What images are made of is there afterwards.
PARTS = $(wildcard $(patsubst %,test/image/%.test.ts,host parts packages tools write-log))
# And one life of a device, whose times are printed: nothing runs beside it.
test-image-quick: node_modules/.package-lock.json
	$(BOUNDED) 30 $(NODE) --test --test-concurrency=1 $(PARTS) test/image/quick.test.ts

# The others two at a time, each of which keeps about one core busy, the longest first. Three devices in a cluster are three times as
# much: they are for `make test-slow`.
CLUSTER_OF_DEVICES = test/image/cluster.test.ts
LIVES = $(filter-out $(PARTS) $(CLUSTER_OF_DEVICES),$(wildcard test/image/*.test.ts))
LONGEST = $(patsubst %,test/image/%.test.ts,start update update-kill tpm update-hung power-cut secure-boot contract reproducible arm64 quick)
test-image: node_modules/.package-lock.json
	$(BOUNDED) 30 $(NODE) --test --test-concurrency=1 $(PARTS)
	$(BOUNDED) 120 $(MAKE) --no-print-directory --jobs=2 --output-sync=target --keep-going \
	  $(patsubst %,run/%,$(LONGEST) $(filter-out $(LONGEST),$(LIVES)))
run/%.test.ts:
	$(NODE) --test $*.test.ts

test-slow: node_modules/.package-lock.json
	COFFER_SLOW=1 COFFER_FUZZ_SECONDS=600 $(BOUNDED) 180 $(NODE) --test --test-concurrency=2 \
	  'test/crypto/engine/**/*.test.ts' test/release/fuzz.test.ts 'test/fuzz/*.test.ts' test/chat/render/hostile.test.ts \
	  test/chat/model/model.test.ts test/chat/realm/messages/moves.test.ts test/chat/events/order.test.ts \
	  test/chat/api/exports.test.ts test/chat/api/long-work.test.ts test/chat/durability/kill.test.ts test/chat/durability/damage.test.ts \
	  test/cluster/join-kill.test.ts test/cluster/processes.test.ts test/cluster/replace-kill.test.ts \
	  test/cluster/replica/faults.test.ts test/cluster/replica/model.test.ts test/chat/process/restore-kill.test.ts
	$(BOUNDED) 60 $(NODE) --test $(CLUSTER_OF_DEVICES)

build: dist/firmware.js

lint: node_modules/.package-lock.json
	$(NODE) $(BIN)/biome check --error-on-warnings
	$(NODE) $(BIN)/tsc -p .
	$(NODE) $(BIN)/tsc -p firmware/console
	$(NODE) $(BIN)/tsc -p test/console

# How fast valid clients are under it decides nothing in CI, where others share the computer.
attack: node_modules/.package-lock.json
	$(BOUNDED) 30 $(NODE) tools/attack/main.ts $(if $(CI),--untimed)

bench: node_modules/.package-lock.json
	$(NODE) tools/bench/primitives.ts
	$(NODE) tools/bench/appliance.ts
	$(NODE) tools/bench/mixed.ts
	$(NODE) tools/bench/softhsm2.ts
	$(NODE) tools/bench/growth.ts
	$(NODE) tools/bench/store.ts $(if $(BEFORE),--before=$(BEFORE))
	$(NODE) tools/bench/audit-cost.ts
	$(NODE) tools/bench/cluster.ts
	$(NODE) tools/bench/chat.ts
	$(NODE) tools/bench/chat-beside.ts
	$(NODE) tools/bench/render.ts
	$(NODE) tools/bench/start.ts
	$(NODE) tools/bench/command.ts
	$(NODE) tools/bench/page.ts
	$(NODE) tools/bench/versions.ts $(if $(BEFORE),--before=$(BEFORE))
	$(NODE) tools/bench/chart.ts

MINUTES ?= 60
soak: node_modules/.package-lock.json
	$(NODE) tools/soak.ts --minutes=$(MINUTES)

# A network of its own, which takes root: that of this computer is left alone. MINUTES=60 MEMORY=512 KEYS=20000 for the small one.
KEYS ?= 100000
soak-cluster: node_modules/.package-lock.json
	$(NODE) test/image/soak/image.ts
	COFFER_SOAK_MINUTES=$(MINUTES) COFFER_SOAK_MEMORY=$(if $(filter file,$(origin MEMORY)),1024,$(MEMORY)) COFFER_SOAK_KEYS=$(KEYS) \
	  unshare --net $(NODE) test/image/soak/cluster.ts

ct: node_modules/.package-lock.json
	rm -f tools/ct/log.txt
	$(NODE) tools/ct/main.ts --samples 100000 --log tools/ct/log.txt
	$(NODE) tools/ct/main.ts --samples 100000 --engine plain --log tools/ct/log.txt

clean:
	rm -rf dist node_modules coverage .venv .zulip-js .nodes .openssl .vectors

dist/firmware.js: node_modules/.package-lock.json $(SOURCES)
	$(NODE) tools/build.ts

# npm writes this file last; it is older than the lock when the lock has changed since. Its warnings are of what packages ask of
# the Node that runs npm, which is not the one that runs them.
node_modules/.package-lock.json: package-lock.json
	@case $$(npm --version 2> /dev/null) in ''|[0-8].*|9.[01].*) \
	  echo 'Coffer needs npm 9.2 or newer, with the Node that it comes with. On Debian 12 or newer: apt install npm' >&2; exit 1;; esac
	@echo 'npm fetches the packages: about a minute. Without a network it tries for some minutes before it says so.'
	npm ci --loglevel=error
	@touch $@
