/**
 * `node tools/imports.ts` compares the imports of the repository with the table "What may import what" in ARCHITECTURE.md, and
 * finds exported names that no other file mentions. It prints one line per problem and then ends with 1.
 */

import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

const HEADING = '## What may import what'
/** Sources below these must have a row. Below others, such as `tools/coffer`, a row is checked where there is one. */
const CLOSED = /^(firmware|boot)\//
/** Paths of the table lie in `firmware/`, but for those that begin like this. */
const ROOTS = /^(boot|tools)(\/|$)|^package\.json$/

// Import declarations as the formatter writes them.
const IMPORTS = /^(?:import|export) (?:[^'"`]*? from )?'([^']+)'|\bimport\('([^']+)'\)/gm
const EXPORTS =
  /^export (?:declare )?(?:default )?(?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type) ([A-Za-z_$][\w$]*)/gm
const EXPORT_LISTS = /^export (?:type )?\{([^}]*)\}/gm

interface Row {
  imports: string[]
  packages: string[]
}

/** Full path of a module -> what it may import. */
function readTable(page: string): Map<string, Row> {
  const rows = new Map<string, Row>()
  const section = page.split(`${HEADING}\n`)[1]?.split('\n## ')[0] ?? ''
  for (const [, module = '', imports = '', packages = ''] of section.matchAll(/^\| `(.+?)` \|([^|]*)\|([^|]*)\|$/gm))
    rows.set(fullPath(module), { imports: namesOf(imports).map(fullPath), packages: namesOf(packages) })
  return rows
}

const fullPath = (path: string): string => (ROOTS.test(path) ? path : `firmware/${path}`)

const namesOf = (cell: string): string[] => [...cell.matchAll(/`(.+?)`/g)].map(([, name = '']) => name)

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

function moduleOf(path: string, rows: Map<string, Row>): string | undefined {
  for (let at = path; at !== '.'; at = posix.dirname(at)) if (rows.has(at)) return at
  return undefined
}

/** `files`: path -> text, of all sources and tests. */
export function checkImports(page: string, files: ReadonlyMap<string, string>): string[] {
  const rows = readTable(page)
  const problems: string[] = []
  for (const [path, text] of files) {
    const module = moduleOf(path, rows)
    const row = module === undefined ? undefined : rows.get(module)
    if (row === undefined && CLOSED.test(path)) problems.push(`${path}: its folder has no row in ARCHITECTURE.md`)
    if (row === undefined || module === undefined) continue
    for (const [, fixed, dynamic] of text.matchAll(IMPORTS)) {
      const name = fixed ?? dynamic ?? ''
      const target = posix.join(posix.dirname(path), name)
      const isAllowed = name.startsWith('.')
        ? mayImport(module, row, target, moduleOf(target, rows) ?? target)
        : row.packages.some((allowed) => matchesPackage(name, allowed))
      if (!isAllowed) problems.push(`${path}: \`${module}\` may not import ${name.startsWith('.') ? target : name}`)
    }
  }
  return problems
}

/** A cell names a module, one file or folder of a module, or with a star all modules of a folder. */
const mayImport = (module: string, row: Row, target: string, of: string): boolean =>
  of === module ||
  row.imports.some((allowed) =>
    allowed.endsWith('/*') ? isWithin(of, allowed.slice(0, -2)) : isWithin(target, allowed) && isWithin(allowed, of),
  )

const matchesPackage = (name: string, allowed: string): boolean =>
  allowed.endsWith('*') ? name.startsWith(allowed.slice(0, -1)) : isWithin(name, allowed)

export function checkExports(files: ReadonlyMap<string, string>): string[] {
  const usersOf = new Map<string, number>()
  for (const text of files.values())
    for (const name of new Set(text.match(/[A-Za-z_$][\w$]*/g))) usersOf.set(name, (usersOf.get(name) ?? 0) + 1)
  return [...files].flatMap(([path, text]) => {
    const listed = [...text.matchAll(EXPORT_LISTS)].flatMap(
      ([, list = '']) => list.match(/[\w$]+(?=\s*(?:,|$))/g) ?? [],
    )
    const names = [...[...text.matchAll(EXPORTS)].map(([, name = '']) => name), ...listed]
    return names.filter((name) => usersOf.get(name) === 1).map((name) => `${path}: no other file uses ${name}`)
  })
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  const paths = globSync('{firmware,boot,tools,test,image}/**/*.{ts,tsx}', { cwd: root }).sort()
  const files = new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
  const problems = [...checkImports(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'), files), ...checkExports(files)]
  for (const problem of problems) console.error(problem)
  if (problems.length > 0) process.exitCode = 1
}
