/**
 * The etcd of an image, built from image/etcd: Go modules by version and hash (go.mod, go.sum), and the version of Go that go.mod
 * names, which any go command since 1.21 fetches when it is another itself. https://go.dev/doc/toolchain
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defined } from '../firmware/base/defined.ts'
import type { Architecture } from './architecture.ts'
import { withLock } from './lock.ts'
import { run } from './run.ts'

interface GoModule {
  path: string
  version: string
  /** An SPDX expression. */
  license: string
  /** As go.sum has it: `h1:` and base64. */
  sum: string
}

export interface EtcdProgram {
  name: 'etcd'
  version: string
  go: { version: string; license: string }
  modules: readonly GoModule[]
  program: Buffer
  licenses: Buffer
}

const SOURCES = fileURLToPath(new URL('etcd', import.meta.url))
const SERVER = 'go.etcd.io/etcd/server/v3'
const GO_MINOR_MIN = 21 // the first that fetches others
/**
 * No paths of this machine and no symbols; and no function is copied to where it is called: a seventh less on the image, in a
 * program that mostly waits for disks.
 */
const FLAGS = ['-trimpath', '-ldflags=-s -w', '-gcflags=all=-l']

export function hasGo(): boolean {
  const { stdout } = spawnSync('go', ['version'], { encoding: 'utf8' })
  const [, minor] = /\bgo1\.(\d+)/.exec(stdout ?? '') ?? []
  return Number(minor) >= GO_MINOR_MIN
}

/** Null without Go. Built once into `cache`; Go keeps modules and objects where it always does. */
export function openEtcdProgram(architecture: Architecture, cache: string): EtcdProgram | null {
  if (!hasGo()) return null
  const sources = ['main.go', 'go.mod', 'go.sum'].map((name) => readFileSync(`${SOURCES}/${name}`, 'utf8'))
  const toolchain = /^toolchain (go\S+)$/m.exec(sources.join('\n'))?.[1]
  if (toolchain === undefined) throw new Error('go.mod names no toolchain')
  const environment = environmentFor(architecture, toolchain)
  const hash = createHash('sha256').update(JSON.stringify([sources, FLAGS, environment]))
  const directory = `${cache}/${architecture.debian}-${hash.digest('hex').slice(0, 16)}`
  if (!existsSync(directory))
    withLock(cache, () => {
      if (existsSync(directory)) return
      const unfinished = `${directory}.new`
      rmSync(unfinished, { recursive: true, force: true })
      mkdirSync(unfinished, { recursive: true })
      build(unfinished, environment)
      renameSync(unfinished, directory)
    })
  const parts = JSON.parse(readFileSync(`${directory}/parts.json`, 'utf8')) as Pick<EtcdProgram, 'go' | 'modules'>
  return {
    name: 'etcd',
    version: defined(parts.modules.find(({ path }) => path === SERVER)).version.slice(1),
    ...parts,
    program: readFileSync(`${directory}/etcd`),
    licenses: readFileSync(`${directory}/LICENSES.txt`),
  }
}

/** All that decides which bits come out; how modules are reached is the machine's matter. */
const environmentFor = ({ debian }: Architecture, toolchain: string): Record<string, string> => ({
  CGO_ENABLED: '0',
  GOAMD64: 'v1',
  GOARCH: debian,
  GOARM64: 'v8.0',
  GOEXPERIMENT: '',
  GOFIPS140: 'off',
  GOFLAGS: '-mod=readonly -buildvcs=false',
  GOOS: 'linux',
  GOTOOLCHAIN: toolchain,
  GOWORK: 'off',
})

function build(output: string, env: Record<string, string>): void {
  const go = (...parameters: string[]): string => run('go', parameters, { cwd: SOURCES, env })
  go('build', ...FLAGS, '-o', `${output}/etcd`, '.')
  const listed = go('list', '-deps', '-f', '{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}', '.')
  const sums = readSums()
  const modules = [...new Set(listed.trim().split('\n'))].sort().flatMap((line) => {
    const [path, version, directory] = line.split('\t') as [string, string, string]
    if (version === '') return [] // our own
    return [{ path, version, sum: defined(sums.get(`${path} ${version}`)), text: licenseTextIn(directory) }]
  })
  const own = {
    path: 'Go',
    version: defined(env.GOTOOLCHAIN).slice('go'.length),
    text: licenseTextIn(go('env', 'GOROOT').trim()),
  }
  const parts = {
    go: { version: own.version, license: licenseOf(own) },
    modules: modules.map(({ path, version, sum, text }) => ({
      path,
      version,
      license: licenseOf({ path, text }),
      sum,
    })),
  }
  writeFileSync(`${output}/parts.json`, JSON.stringify(parts))
  writeFileSync(`${output}/LICENSES.txt`, allTexts([own, ...modules]))
}

const readSums = (): Map<string, string> =>
  new Map(
    readFileSync(`${SOURCES}/go.sum`, 'utf8')
      .trim()
      .split('\n')
      .map((line) => {
        const [path, version, sum] = line.split(' ') as [string, string, string]
        return [`${path} ${version}`, sum]
      }),
  )

/** License and notice files in the directory of a module. */
function licenseTextIn(directory: string): string {
  const files = readdirSync(directory).filter((name) => /^(licen[cs]e|copying|notice)(\.\w+)?$/i.test(name))
  return files
    .sort()
    .map((name) => readFileSync(`${directory}/${name}`, 'utf8'))
    .join('\n')
}

const KNOWN: Readonly<Record<string, RegExp>> = {
  'Apache-2.0': /Apache License,?\s+Version 2\.0/,
  'BSD-2-Clause': /Redistributions in binary form(?![\s\S]*Neither the name)/,
  'BSD-3-Clause': /Redistributions in binary form[\s\S]*Neither the name/,
  MIT: /Permission is hereby granted, free of charge/,
}

/** An SPDX expression. Throws for a text that is none of the known ones. */
export function licenseOf({ path, text }: { path: string; text: string }): string {
  const found = Object.entries(KNOWN).flatMap(([id, pattern]) => (pattern.test(text) ? [id] : []))
  if (found.length === 0) throw new Error(`${path} has no license that image/etcd-program.ts knows`)
  return found.join(' AND ')
}

/** Each text once. */
function allTexts(modules: readonly { path: string; version: string; text: string }[]): string {
  const rule = `\n${'-'.repeat(80)}\n\n`
  return [...Map.groupBy(modules, ({ text }) => text)]
    .map(([text, those]) => `${those.map(({ path, version }) => `${path} ${version}`).join('\n')}\n\n${text.trim()}\n`)
    .join(rule)
}
