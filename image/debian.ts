/**
 * Debian packages without touching the machine's own: apt with a state directory of its own (so that an ordinary user
 * can do it, for every architecture), reading the machine's sources of this release. apt verifies the archive's
 * signature; what is kept is verified against the lock.
 */

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { Architecture } from './architecture.ts'
import { withLock } from './lock.ts'
import type { LockedPackage } from './package-lock.ts'
import { run } from './run.ts'

export const RELEASE = 'bookworm'

export interface Debian {
  newest(name: string): LockedPackage | null
  dependencies(name: string): string[]
  /** The directory of its files, fetched if need be. */
  unpack(locked: LockedPackage): string
}

/**
 * Keeps everything in `cache`: packages that are there are not asked for again, and then no network is needed. Where two processes
 * share it, one waits for what the other fetches.
 */
export function openDebian({ debian }: Architecture, cache: string): Debian {
  const directory = `${cache}/${debian}`
  let apt: Apt | null = null
  const ask: Apt = (...question) => {
    apt ??= openApt(directory, debian)
    return apt(...question)
  }
  const show = (name: string) => readFields(ask('apt-cache', ['show', '--no-all-versions', name]))

  const newest = (name: string): LockedPackage | null => {
    const field = show(name)
    const version = field('Version')
    const sha256 = field('SHA256')
    return version === undefined || sha256 === undefined ? null : { name, version, sha256 }
  }

  const fetch = (locked: LockedPackage, file: string) => {
    const { name, version, sha256 } = locked
    const download = `${directory}/download-${name}`
    rmSync(download, { recursive: true, force: true })
    mkdirSync(download, { recursive: true })
    try {
      ask('apt-get', ['download', `${name}=${version}`], download)
    } catch (error) {
      const now = newest(name)
      if (now === null || now.version === version) throw error
      throw new Error(
        `${name} ${version} is no longer in Debian's archive, which has ${now.version} now. ` +
          'tools/node image/update-lock.ts moves the lock to the newest versions.',
      )
    }
    const fetched = readdirSync(download).find((entry) => entry.endsWith('.deb'))
    const actual = createHash('sha256')
      .update(readFileSync(`${download}/${fetched}`))
      .digest('hex')
    if (actual !== sha256)
      throw new Error(`${name} ${version} has the hash ${actual}; packages.lock.json says ${sha256}`)
    renameSync(`${download}/${fetched}`, file)
    rmSync(download, { recursive: true })
  }

  const unpack = (locked: LockedPackage, unpacked: string) => {
    const file = `${unpacked}.deb`
    if (!existsSync(file)) fetch(locked, file)
    rmSync(`${unpacked}.new`, { recursive: true, force: true })
    run('dpkg-deb', ['--extract', file, `${unpacked}.new`])
    renameSync(`${unpacked}.new`, unpacked)
  }

  return {
    newest: (name) => withLock(directory, () => newest(name)),
    dependencies: (name) =>
      withLock(directory, () => show(name)('Depends') ?? '')
        .split(',')
        .map((dependency) => dependency.trim().replace(/[ :].*$/s, '')),
    unpack: (locked) => {
      const unpacked = `${directory}/${locked.name}_${locked.sha256}`
      if (!existsSync(unpacked))
        withLock(directory, () => {
          if (!existsSync(unpacked)) unpack(locked, unpacked)
        })
      return unpacked
    },
  }
}

type Apt = (program: 'apt-get' | 'apt-cache', parameters: readonly string[], directory?: string) => string

function openApt(directory: string, architecture: string): Apt {
  const apt = `${directory}/apt`
  for (const name of ['state/lists/partial', 'cache/archives/partial', 'sources'])
    mkdirSync(`${apt}/${name}`, { recursive: true })
  writeFileSync(`${apt}/status`, '')
  writeFileSync(`${apt}/sources/debian.sources`, machineSources())
  writeFileSync(
    `${apt}/apt.conf`,
    `Dir::State "${apt}/state";
Dir::State::status "${apt}/status";
Dir::Cache "${apt}/cache";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "${apt}/sources";
APT::Architecture "${architecture}";
#clear APT::Architectures;
APT::Architectures { "${architecture}"; };
APT::Sandbox::User "";
#clear APT::Update;
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
#clear Acquire::IndexTargets::deb::DEP-11-icons-large;
`,
  )
  const ask: Apt = (program, parameters, directory = apt) =>
    run(program, [`--config-file=${apt}/apt.conf`, '--quiet', ...parameters], { cwd: directory })
  ask('apt-get', ['update'])
  return ask
}

/** Where this machine gets Debian from, in the form of sources.list(5) that names the signers. */
function machineSources(): string {
  const parts = '/etc/apt/sources.list.d'
  const files = ['/etc/apt/sources.list', ...(existsSync(parts) ? readdirSync(parts) : []).map((n) => `${parts}/${n}`)]
  const stanzas = files
    .filter((file) => existsSync(file) && /\.(list|sources)$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(file, 'utf8').replaceAll(/^#.*\n/gm, '')
      return file.endsWith('.sources') ? text.split(/\n\s*\n/) : text.split('\n').map(toStanza)
    })
    .filter((stanza) => suitesOf(stanza).some((suite) => suite.split('-')[0] === RELEASE))
    .map((stanza) => stanza.replaceAll(/^Architectures:.*\n?/gm, '').trim())
    .map((stanza) => stanza.replace(/^Components:.*\bmain\b(?!.*non-free-firmware).*$/m, '$& non-free-firmware'))
  if (stanzas.length === 0) throw new Error(`no file in /etc/apt names a source of Debian ${RELEASE}`)
  return `${stanzas.join('\n\n')}\n`
}

const suitesOf = (stanza: string): string[] => (/^Suites: *(.*)$/m.exec(stanza)?.[1] ?? '').split(/\s+/)

function toStanza(line: string): string {
  const match = /^deb\s+(?:\[(?<options>.*?)\]\s+)?(?<uri>\S+)\s+(?<suite>\S+)\s+(?<components>.*)$/.exec(line)
  if (match === null) return ''
  const { options = '', uri, suite, components } = match.groups as Record<string, string>
  const signer = /signed-by=(\S+)/.exec(options)?.[1]
  const lines = ['Types: deb', `URIs: ${uri}`, `Suites: ${suite}`, `Components: ${components}`]
  return [...lines, ...(signer === undefined ? [] : [`Signed-By: ${signer}`])].join('\n')
}

/** Reads fields of a control paragraph, deb-control(5). */
function readFields(paragraph: string): (name: string) => string | undefined {
  return (name) => new RegExp(`^${name}: (.*)$`, 'm').exec(paragraph)?.[1]
}
