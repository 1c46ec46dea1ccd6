/** Programs of other packages that tests run beside ours: what lacks is skipped with the words that install it, in CI nothing is. */

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, closeSync, constants, existsSync, globSync, openSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'

const root = join(import.meta.dirname, '../..')

/** Python with the published clients, in the virtual environment that `.ci/run` makes. */
export const PYTHON = join(root, '.venv/bin/python')

/** Where the published JavaScript client is installed, which `.ci/run` does. */
export const ZULIP_JS = join(root, '.zulip-js')

/** Where node-vault is installed, which `.ci/run` does. */
export const NODE_VAULT = join(root, '.node-vault')

/** sops and cosign, which `.ci/go-clients` gets. */
export const GO_CLIENTS = join(root, '.go-clients')

/** In memory where there is such a disk that this user may write. */
export const MEMORY_DIRECTORY = isWritable('/dev/shm') ? '/dev/shm' : tmpdir()

const PACKAGES = {
  bsdcpio: 'libarchive-tools',
  cpio: 'cpio',
  curl: 'curl',
  dnsmasq: 'dnsmasq-base',
  'dpkg-deb': 'dpkg',
  e2fsck: 'e2fsprogs',
  etcd: 'etcd-server',
  'firefox-esr': 'firefox-esr',
  'fsck.fat': 'dosfstools',
  fish: 'fish',
  git: 'git',
  gpg: 'gnupg',
  ip: 'iproute2',
  java: 'default-jre-headless',
  jq: 'jq',
  mcopy: 'mtools',
  'mkfs.vfat': 'dosfstools',
  mksquashfs: 'squashfs-tools',
  mvn: 'maven',
  openssl: 'openssl',
  ngircd: 'ngircd',
  'pkcs11-tool': 'opensc',
  'prometheus-alertmanager': 'prometheus-alertmanager',
  promtool: 'prometheus',
  'qemu-io': 'qemu-utils',
  rsyslogd: 'rsyslog',
  sbsign: 'sbsigntool',
  script: 'bsdutils',
  sfdisk: 'fdisk',
  sgdisk: 'gdisk',
  skopeo: 'skopeo',
  sqop: 'sqop',
  ssh: 'openssh-client',
  sshd: 'openssh-server',
  strace: 'strace',
  swtpm: 'swtpm',
  'systemd-analyze': 'systemd',
  tinyproxy: 'tinyproxy-bin',
  tmux: 'tmux',
  tpm2_getcap: 'tpm2-tools',
  umoci: 'umoci',
  veritysetup: 'cryptsetup-bin',
  xz: 'xz-utils',
  zsh: 'zsh',
} as const

type Tool = keyof typeof PACKAGES

/** Administrators' programs are found by root's path alone, though everybody may run them. */
const PLACES = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']

const isMissing = (tool: Tool): boolean => !PLACES.some((place) => existsSync(join(place, tool)))

export const packagesMissing = (tools: readonly Tool[]): string[] =>
  tools.filter(isMissing).map((tool) => PACKAGES[tool])

export function unlessMissing(missing: readonly string[]): { skip: string | false } {
  if (missing.length === 0 || process.env.CI === 'true') return { skip: false }
  return { skip: `to run this: sudo apt install ${[...new Set(missing)].join(' ')}` }
}

const ON_TERMINALS: readonly Tool[] = ['script', 'tmux']

export function needs(...tools: Tool[]): { skip: string | false } {
  const options = unlessMissing(packagesMissing(tools))
  const lacksTerminal =
    options.skip === false && process.env.CI !== 'true' && tools.some(opensTerminal) && !hasTerminals()
  return lacksTerminal ? { skip: 'to run this: pseudo-terminals, which a mounted /dev/pts gives' } : options
}

const opensTerminal = (tool: Tool): boolean => ON_TERMINALS.includes(tool)

function isWritable(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** pts(4): the open fails where /dev/pts is not mounted, even if the file is there. */
function hasTerminals(): boolean {
  try {
    closeSync(openSync('/dev/ptmx', constants.O_RDWR | constants.O_NOCTTY))
    return true
  } catch {
    return false
  }
}

/** Says how to install the published clients; does no harm where some of them are there. */
export const PYTHON_STEPS =
  'to run this: sudo apt install python3-venv; ' +
  'python3 -m venv .venv && .venv/bin/pip install --ignore-requires-python -r test/accept/requirements.txt'

export const needsPython = (): { skip: string | false } => ({
  skip: process.env.CI !== 'true' && !existsSync(PYTHON) && PYTHON_STEPS,
})

/** Options of a test that runs one of the clients that need much; `program` is what its package installs. */
export const needsClient = (program: string): { skip: string | false } => {
  const python = needsPython()
  const lacks = process.env.CI !== 'true' && !existsSync(join(dirname(PYTHON), program))
  const install = '.venv/bin/pip install -r test/chat/clients/requirements.txt'
  if (python.skip !== false) return { skip: `${python.skip} && ${install}` }
  return { skip: lacks && `to run this: ${install}` }
}

/** Where an `openssl` is that knows ML-DSA; undefined where there is none. `.ci/openssl` gets one of Debian 13. */
export const OPENSSL_35 = [join(root, '.openssl/bin'), ...(process.env.PATH ?? '').split(delimiter)].find(
  (place) => existsSync(join(place, 'openssl')) && opensslVersion(join(place, 'openssl')) >= 305,
)

/** 305 for 3.5.9. */
function opensslVersion(program: string): number {
  const [, major, minor] =
    /^OpenSSL (\d+)\.(\d+)/.exec(spawnSync(program, ['version'], { encoding: 'utf8' }).stdout) ?? []
  return Number(major) * 100 + Number(minor)
}

export const needsOpenssl35 = (): { skip: string | false } => ({
  skip:
    process.env.CI !== 'true' &&
    OPENSSL_35 === undefined &&
    'to run this: OpenSSL 3.5 or later; .ci/openssl gets one, on Debian',
})

/** Vectors of ML-DSA that come as packages, which `.ci/vectors` gets. */
export const VECTORS = join(root, '.vectors')
export const NO_VECTORS = 'to run this: .ci/vectors'

export const needsVectors = (): { skip: string | false } => ({
  skip: process.env.CI !== 'true' && !existsSync(VECTORS) && NO_VECTORS,
})

/** A program on the published NetHSM Rust library. */
export const RUST_CLIENT = join(root, '.rust-client/membership')

/** The library's own test. */
export const RUST_SDK_TEST = join(root, '.rust-client/basic')

/** The published crates nethsm and nethsm-cli, with their commands. */
export const RUST_NETHSM = join(root, '.rust-nethsm')

/** Options of a test that runs what `build` makes; in CI, too: the registry of Rust need not be reached. */
export const needsRustClient = (
  program = RUST_CLIENT,
  steps = 'cargo, then .ci/rust-client',
): { skip: string | false } => ({
  skip: !existsSync(program) && `to run this: ${steps}`,
})

/** syslog-ng of Debian, which cannot be installed beside rsyslog. */
export const SYSLOG_NG = join(root, '.syslog-ng/bin/syslog-ng')

export const needsSyslogNg = (): { skip: string | false } => ({
  skip: process.env.CI !== 'true' && !existsSync(SYSLOG_NG) && 'to run this: .ci/syslog-ng, on Debian',
})

/** The driver for TLS that rsyslog loads from its own directory, which differs from machine to machine. */
export const needsRsyslogTls = (): { skip: string | false } => {
  const drivers = globSync('/usr/lib/*/rsyslog/lmnsd_gtls.so')
  return unlessMissing([...packagesMissing(['rsyslogd']), ...(drivers.length === 0 ? ['rsyslog-gnutls'] : [])])
}

/** Where `.ci/acme` installs ACME servers. */
const ACME_SERVERS = join(root, '.acme')

/** An ACME server: its program, and options of a test that runs it; in CI, too: the registry of Go need not be reached. */
export function acmeServer(name: 'pebble' | 'pebble-challtestsrv' | 'step-ca'): {
  program: string
  skip: string | false
} {
  const program = join(ACME_SERVERS, name)
  return { program, skip: !existsSync(program) && 'to run this: Go, then .ci/acme' }
}

export const needsZulipJs = (): { skip: string | false } => ({
  skip:
    process.env.CI !== 'true' &&
    !existsSync(join(ZULIP_JS, 'node_modules')) &&
    'to run this: cp -r test/chat/clients/zulip-js .zulip-js && npm ci --ignore-scripts --prefix .zulip-js',
})

export const needsNodeVault = (): { skip: string | false } => ({
  skip:
    process.env.CI !== 'true' &&
    !existsSync(join(NODE_VAULT, 'node_modules')) &&
    'to run this: cp -r test/kms/transit/node-vault .node-vault && npm ci --ignore-scripts --prefix .node-vault',
})

/** Options of a test that runs it; in CI, too: the registry of Go need not be reached. */
export const needsGoClient = (program: 'sops' | 'cosign'): { skip: string | false } => ({
  skip: !existsSync(join(GO_CLIENTS, program)) && 'to run this: go, then .ci/go-clients',
})

/** Where other versions of Node are installed, which `.ci/run` does. */
const NODES = join(root, '.nodes/node_modules')

/** A Node of this major version: its program, and options of a test that runs it. */
export function otherNode(major: number): { program: string; skip: string | false } {
  const program = join(NODES, `node-${major}/bin/node`)
  const isMissing = process.env.CI !== 'true' && !existsSync(program)
  return { program, skip: isMissing && 'to run this: cp -r test/coffer/nodes .nodes && npm ci --prefix .nodes' }
}

/** At the top of a file whose every test runs these programs: where one lacks, the file is one skipped test. */
export async function fileNeeds(...tools: Tool[]): Promise<void> {
  const { skip } = needs(...tools)
  if (skip === false) return
  test('every test of this file', { skip }, () => {})
  await once(process, 'beforeExit')
  await setTimeout(0) // the runner's own turn: the report is out
  process.exit(0)
}
