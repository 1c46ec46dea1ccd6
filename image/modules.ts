/**
 * Drivers on the image, and what modprobe knows them by: modules.dep(5), and lines `alias <pattern> <module>`. What each
 * module is for and needs it says itself (its section .modinfo).
 */

import { readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { defined } from '../firmware/base/defined.ts'
import type { Architecture } from './architecture.ts'
import { filesBelow, type Packages } from './packages.ts'
import { bytesOf, fileOf, type Tree } from './tree.ts'

interface Modules {
  /** Names of a kernel release's modules: `lib/modules/<release>`. */
  release: string
  /** Returns modules of this kernel, each after its dependencies, without built-in ones. */
  ordered(names: readonly string[]): Module[]
}

export interface Module {
  name: string
  file: string
  /** In the order in which they are loaded. */
  dependencies: Module[]
  aliases: string[]
  firmware: string[]
}

/** The lists of contents.ts are of drivers for x64, of which other kernels lack some. */
export function openKernelModules({ name }: Architecture, { kernel }: Packages): Modules {
  const mayLack = name !== 'x64'
  const directory = `${kernel.directory}/lib/modules`
  const files = filesBelow(directory)
  const paths = new Map(files.filter((file) => file.endsWith('.ko')).map((file) => [nameOf(file), file]))
  const list = defined(files.find((file) => file.endsWith('/modules.builtin')))
  const builtIn = new Set(readFileSync(`${directory}/${list}`, 'utf8').split('\n').map(nameOf))
  const known = new Map<string, Module>()

  function open(wanted: string): Module | null {
    const name = nameOf(wanted)
    const path = paths.get(name)
    if (builtIn.has(name)) return null
    if (path === undefined) {
      if (mayLack || ELSEWHERE.includes(name)) return null
      throw new Error(`the kernel has no module ${name}`)
    }
    const found = known.get(name)
    if (found !== undefined) return found
    const said = describe(`${directory}/${path}`)
    const soft = said('softdep')
      .flatMap(before)
      .filter((name) => paths.has(nameOf(name))) // some name what a module does
    const needed = [...said('depends').flatMap((text) => text.split(',')), ...soft]
    const modules = needed.filter((name) => name !== '').map(open)
    const direct = modules.filter((module) => module !== null)
    const dependencies = [...new Set(direct.flatMap((module) => [...module.dependencies, module]))]
    const module = {
      name,
      file: `${directory}/${path}`,
      dependencies,
      aliases: said('alias').filter((alias) => alias.includes(':')),
      firmware: said('firmware'),
    }
    known.set(name, module)
    return module
  }

  return {
    release: dirname(list),
    ordered: (names) => {
      const modules = names.map(open).filter((module) => module !== null)
      return [...new Set(modules.flatMap((module) => [...module.dependencies, module]))]
    },
  }
}

/** Adds them, and what modprobe finds them by: the devices they are for, or those of what they extend. */
export function addModules(
  tree: Tree,
  { release }: Modules,
  modules: readonly Module[],
  origin: string,
  requests: Readonly<Record<string, string>> = {},
): void {
  const directory = `usr/lib/modules/${release}`
  for (const { file } of modules) tree.set(`${directory}/${basename(file)}`, fileOf(file, origin))
  const dependencies = modules.map(({ file, dependencies }) => {
    const names = dependencies.toReversed().map(({ file }) => basename(file)) // the last one is loaded first
    return `${[`${basename(file)}:`, ...names].join(' ')}\n`
  })
  const aliases = modules.flatMap((module) => {
    const own = module.aliases.length > 0 ? [module] : module.dependencies
    return own.flatMap(({ aliases }) => aliases.map((alias) => `alias ${alias} ${module.name}\n`))
  })
  aliases.push(...Object.entries(requests).map(([alias, name]) => `alias ${alias} ${name}\n`))
  tree.set(`${directory}/modules.dep`, bytesOf(Buffer.from(dependencies.join('')), 'coffer'))
  tree.set(`${directory}/modules.alias`, bytesOf(Buffer.from(aliases.join('')), 'coffer'))
}

const ELSEWHERE = ['sbsa_gwdt', 'sha256_arm64', 'sha2_ce'] // of other architectures

// The kernel takes - and _ in names of modules for the same.
const nameOf = (path: string): string => basename(path.trim(), '.ko').replaceAll('-', '_')

/** Reads values of a module's information, `name=value`. */
function describe(path: string): (name: string) => string[] {
  const text = readFileSync(path, 'latin1')
  return (name) => [...text.matchAll(new RegExp(`\\0${name}=([^\\0]*)(?=\\0)`, 'g'))].map(([, value = '']) => value)
}

/** Returns the `pre` part of a soft dependency, `pre: a b post: c`. */
const before = (text: string): string[] => (/\bpre: ([^:]*?)(?:\s*post:|$)/.exec(text)?.[1] ?? '').split(' ')
