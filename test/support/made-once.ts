/** Makes expensive things once for all test files and runs: a directory in `dist` named after a hash of its ingredients. */

import { createHash, type Hash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

interface Recipe {
  /** The directory is `<stem>-<hash>`; its parent is made. */
  stem: string
  parameters: readonly string[]
  /** Files and directories it is made of and by, each under a name: the same content elsewhere is the same. */
  sources: readonly (readonly [name: string, path: string])[]
  /** So many of the stem are kept, those used last. */
  kept: number
  make(directory: string): Promise<void>
}

export async function madeOnce(recipe: Recipe): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(recipe.parameters))
  for (const [name, path] of recipe.sources) hashTree(hash, path, name)
  const directory = `${recipe.stem}-${hash.digest('hex').slice(0, 16)}`
  if (!existsSync(directory)) await fill(directory, recipe.make)
  utimesSync(directory, new Date(), new Date())
  dropOld(recipe)
  return directory
}

export const inProject = (...paths: string[]): [string, string][] => paths.map((path) => [path, join(ROOT, path)])

async function fill(directory: string, make: Recipe['make']): Promise<void> {
  mkdirSync(dirname(directory), { recursive: true })
  const unfinished = mkdtempSync(`${directory}.`)
  try {
    chmodSync(unfinished, 0o755) // where we are root, the firmware is another user
    await make(unfinished)
    renameSync(unfinished, directory)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    if (!existsSync(directory)) throw error // else somebody else has made it meanwhile
  }
}

function hashTree(hash: Hash, path: string, name: string): void {
  if (statSync(path).isDirectory()) {
    for (const entry of readdirSync(path).sort())
      if (!entry.endsWith('.md')) hashTree(hash, join(path, entry), `${name}/${entry}`)
    return
  }
  const bytes = readFileSync(path)
  hash.update(`${name}\n${bytes.length}\n`).update(bytes)
}

function dropOld({ stem, kept }: Recipe): void {
  const parent = dirname(stem)
  const made = readdirSync(parent)
    .map((name) => join(parent, name))
    .filter((path) => path.startsWith(`${stem}-`) && /-[0-9a-f]{16}$/.test(path))
    .flatMap((path) => {
      const stat = statSync(path, { throwIfNoEntry: false }) // others drop, too
      return stat === undefined ? [] : [{ path, usedMs: stat.mtimeMs }]
    })
    .sort((a, b) => b.usedMs - a.usedMs)
  for (const { path } of made.slice(kept)) rmSync(path, { recursive: true, force: true })
}
