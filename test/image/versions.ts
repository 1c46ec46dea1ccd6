/** Images of several versions for the tests of updates, and a look at the ESP from outside. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle } from '../../tools/build.ts'
import { copyVariables } from '../../tools/qemu/machine.ts'
import { ADMIN, expect } from '../support/appliance.ts'
import type { Reply } from '../support/client.ts'
import type { Appliance } from '../support/machine.ts'
import { buildImage, type Image } from './images.ts'
import { findPartition, readBytes, writePieces } from './replay.ts'

export const FIRST = '1.1.0'
const FIRST_FLOOR = '1.0.5'
export const SECOND = '1.2.0'
export const BAD = '1.3.0'

export const firstImage = (): Promise<Image> => buildImage({ version: FIRST, extra: ['--rollback-floor', FIRST_FLOOR] })
export const secondImage = (): Promise<Image> => buildImage({ version: SECOND })

/** An image whose programs `change` has changed: parts of them are replaced, each by exactly one place. */
export async function changedImage(
  version: string,
  directory: string,
  change: (program: (name: string) => Program) => void,
): Promise<Image> {
  const programs = join(directory, `bundle-${version}`)
  await bundle(programs, version)
  change((name) => openProgram(join(programs, name)))
  return buildImage({ version, bundle: programs })
}

interface Program {
  replaceAll(source: string): void
  replace(part: RegExp, by: string): void
  prepend(source: string): void
}

function openProgram(path: string): Program {
  const read = () => readFileSync(path, 'utf8')
  return {
    replaceAll: (source) => writeFileSync(path, source),
    prepend: (source) => writeFileSync(path, `${source}\n${read()}`),
    replace: (part, by) => {
      assert.equal(read().match(new RegExp(part, 'g'))?.length, 1, `${part} is in ${path} once`)
      writeFileSync(path, read().replace(part, by))
    },
  }
}

/** How the tests of updates switch a machine on: through UEFI, with the variables of this disk, and one core: see `boot`. */
export function bootOptions(disk: string) {
  const variables = copyVariables('x64', join(disk, '..'))
  return { disk, variables, firmware: 'ovmf', cores: 1, exitOnRestart: false } as const
}

export function listEsp(disk: string): string[] {
  const lines = mtool('mdir', disk, '-/', '-a', '::').split('\n')
  let directory = ''
  return lines.flatMap((line) => {
    const [, found] = /^Directory for ::\/?(.*)$/.exec(line) ?? []
    if (found !== undefined) directory = found === '' ? '' : `${found}/`
    const [, size, long] = /^\S+ *\S* +(\d+) \d{4}-\d\d-\d\d +\d+:\d\d +(.*?) *$/.exec(line) ?? []
    if (size === undefined) return []
    return [`${directory}${long || line.slice(0, 12).trim().replace(/ +/, '.').toLowerCase()} ${size}`]
  })
}

export const versionsOn = (disk: string): string[] =>
  listEsp(disk).flatMap((line) => /^EFI\/Linux\/(\S+) \d+$/.exec(line)?.[1] ?? [])

/** Puts a version on a freshly flashed disk whose machine is off, as if it had been committed. */
export function commitOffline(disk: string, { version, uki, root }: Image): void {
  writePieces(disk, [{ position: findPartition(disk, 'coffer-root-b').start, data: readFileSync(root) }])
  mtool('mcopy', disk, uki, `::EFI/Linux/coffer_${version}+3-0.efi`)
}

/** As a boot loader counts: this name of a version becomes that one. Of a disk whose machine is off. */
export const renameVersion = (disk: string, from: string, to: string): void => {
  mtool('mren', disk, `::EFI/Linux/${from}`, to)
}

export function holdsRoot(disk: string, { root }: Image): boolean {
  const expected = readFileSync(root)
  return ['coffer-root-a', 'coffer-root-b'].some((name) =>
    readBytes(disk, findPartition(disk, name).start, expected.length).equals(expected),
  )
}

export function contentOf(disk: string, file: string): Buffer {
  const bytes = execFileSync('mtype', ['-i', `${disk}@@1M`, `::EFI/Linux/${file}`], {
    maxBuffer: 256 * 1024 * 1024,
    env: TOOLS,
  })
  return bytes
}

const TOOLS = { ...process.env, MTOOLS_SKIP_CHECK: '1', LC_ALL: 'C' }
const mtool = (program: string, disk: string, ...parameters: string[]): string =>
  execFileSync(program, ['-i', `${disk}@@1M`, ...parameters], { encoding: 'utf8', env: TOOLS })

export const upload = (appliance: Pick<Appliance, 'call'>, body: Uint8Array): Promise<Reply> =>
  appliance.call('POST', '/system/update', {
    as: ADMIN,
    body,
    type: 'application/octet-stream',
  })

export async function commit(appliance: Pick<Appliance, 'call'>): Promise<void> {
  await expect(204, appliance.call('POST', '/system/commit-update', { as: ADMIN }))
}

/** `1.2.0`; older versions name no more than `1.2`, and that elsewhere. */
export async function versionOf(appliance: Pick<Appliance, 'call'>): Promise<string> {
  const info = await expect(200, appliance.call('GET', '/system/info', { as: ADMIN }))
  const { softwareVersion, softwareBuild } = info.json<{ softwareVersion: string; softwareBuild: string }>()
  return /^coffer-(.*)$/.exec(softwareBuild)?.[1] ?? softwareVersion
}

export async function fallback(appliance: Pick<Appliance, 'call'>): Promise<string | undefined> {
  const reply = await expect(200, appliance.call('GET', '/system/software', { as: ADMIN }))
  return reply.json<{ updateFallback?: string }>().updateFallback
}

export async function prepare(appliance: Pick<Appliance, 'call'>): Promise<void> {
  const as = ADMIN
  await expect(204, appliance.call('PUT', '/config/unattended-boot', { as, json: { status: 'on' } }))
  const json = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'], id: 'kept' }
  await expect(201, appliance.call('POST', '/keys/generate', { as, json }))
}

export async function checkKey(appliance: Pick<Appliance, 'call'>): Promise<void> {
  await expect(200, appliance.call('GET', '/keys/kept', { as: ADMIN }))
}
