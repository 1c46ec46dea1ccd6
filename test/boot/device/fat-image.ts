/** FAT file systems in files, made and filled by dosfstools and mtools, which know nothing of our code. */

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { needs } from '../../support/tools.ts'

export const onFat = needs('mkfs.vfat', 'mcopy', 'fsck.fat')

export interface FatImage {
  path: string
  put(name: string, bytes: Uint8Array): void
  move(from: string, to: string): void
  remove(name: string): void
  get(name: string): Buffer
  names(): string[]
  complaints(): string
}

export const SECTOR_BYTES = 512

/** 16 and 32 have clusters of 2048 and 512 bytes. */
export function makeFat(t: TestContext, kind: 16 | 32): FatImage {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-fat-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'esp')
  const shape = kind === 32 ? ['-F', '32', '-s', '1'] : ['-F', '16', '-s', '4']
  run('mkfs.vfat', ['-C', ...shape, path, String(40 * 1024)])
  const made = new Set<string>()
  const mtool = (program: string, ...parameters: string[]) => run(program, ['-i', path, ...parameters])
  return {
    path,
    put: (name, bytes) => {
      const parts = name.split('/')
      for (let depth = 1; depth < parts.length; depth++) {
        const parent = parts.slice(0, depth).join('/')
        if (!made.has(parent)) mtool('mmd', '-D', 's', `::${parent}`)
        made.add(parent)
      }
      writeFileSync(join(directory, 'content'), bytes)
      mtool('mcopy', '-o', join(directory, 'content'), `::${name}`)
    },
    move: (from, to) => mtool('mmove', `::${from}`, `::${to}`),
    remove: (name) => mtool('mdel', `::${name}`),
    get: (name) => {
      const to = join(directory, 'out')
      mtool('mcopy', '-n', `::${name}`, to)
      return readFileSync(to)
    },
    names: () =>
      mtool('mdir', '-/', '-b', '-a', '::')
        .split('\n')
        .map((line) => line.trim().replace(/^::\//, ''))
        .filter((line) => line !== '' && !line.endsWith('/'))
        .sort(),
    complaints: () => {
      const { status, stdout, stderr } = spawnSync('fsck.fat', ['-n', path], { encoding: 'utf8', env: environment() })
      return status === 0 ? '' : `${stdout}${stderr}`
    },
  }
}

function run(program: string, parameters: string[]): string {
  return execFileSync(program, parameters, { encoding: 'utf8', env: environment(), stdio: ['ignore', 'pipe', 'pipe'] })
}

function environment() {
  return { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin`, LC_ALL: 'C', MTOOLS_SKIP_CHECK: '1' }
}
