/** Coffer as a package of Debian's: deb(5), deb-control(5), Debian Policy 4.7. No program of Debian's is needed to make it. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { constants, gzipSync } from 'node:zlib'
import { COFFER } from '../root.ts'
import { bytesOf, fileOf, type Tree } from '../tree.ts'
import { makeTar } from './tar.ts'

interface DebOptions {
  program: Tree
  version: string
  /** As Debian names it. */
  architecture: string
  /** License texts, Coffer's first. */
  licenses: readonly string[]
  /** CHANGELOG.md. */
  changes: string
  /** Modification time of every file, in seconds since 1970. */
  time: number
}

const DOCUMENTS = 'usr/share/doc/coffer'
const SETTINGS = 'etc/default/coffer'
const SCRIPTS = ['postinst', 'prerm', 'postrm'] as const
const MAINTAINER = 'The makers of Coffer <coffer@coffer.invalid>'
const KIB = 1024

/** Requirements of Node and SQLite's addons, from the versions of their symbols. */
const DEPENDS = 'libc6 (>= 2.34), libgcc-s1 (>= 4.2), libstdc++6 (>= 11)'

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

export function makeDeb(options: DebOptions): Buffer {
  const { time } = options
  const files = makeFiles(options)
  const control: Tree = new Map()
  const text = (name: string, content: string) => control.set(name, bytesOf(Buffer.from(content), COFFER))
  text('control', controlOf(options, files))
  text('conffiles', `/${SETTINGS}\n`)
  text('md5sums', sumsOf(files))
  for (const name of SCRIPTS) control.set(name, fileOf(here(name), COFFER, true))
  const archive = (tree: Tree) => zipped(makeTar(tree, { prefix: './', time }))
  return Buffer.concat([
    Buffer.from('!<arch>\n'),
    ...member('debian-binary', Buffer.from('2.0\n'), time),
    ...member('control.tar.gz', archive(control), time),
    ...member('data.tar.gz', archive(files), time),
  ])
}

function makeFiles({ program, licenses, changes, version, time }: DebOptions): Tree {
  const files: Tree = new Map(program)
  files.set('usr/lib/systemd/system/coffer.service', fileOf(here('coffer.service'), COFFER))
  files.set(SETTINGS, fileOf(here('default'), COFFER))
  files.set(`${DOCUMENTS}/README.Debian`, fileOf(here('README.Debian'), COFFER))
  files.set(`${DOCUMENTS}/copyright`, bytesOf(Buffer.from(licenses.join('\n')), COFFER))
  files.set(`${DOCUMENTS}/CHANGELOG.md.gz`, bytesOf(zipped(Buffer.from(changes)), COFFER))
  files.set(`${DOCUMENTS}/changelog.gz`, bytesOf(zipped(Buffer.from(entryOf(version, time))), COFFER))
  return files
}

/** deb-changelog(5). */
function entryOf(version: string, time: number): string {
  const date = new Date(time * 1000).toUTCString().replace('GMT', '+0000')
  return `coffer (${version}) stable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- ${MAINTAINER}  ${date}\n`
}

function controlOf({ version, architecture }: DebOptions, files: Tree): string {
  const bytes = [...files.values()].reduce((sum, entry) => sum + (entry.type === 'file' ? entry.bytes.length : 0), 0)
  return `Package: coffer
Version: ${version}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${Math.ceil(bytes / KIB)}
Depends: ${DEPENDS}
Section: admin
Priority: optional
Description: network key-management appliance
 Coffer keeps cryptographic keys and uses them on request, over HTTPS and
 wire-compatible with NetHSM's clients. What it stores is sealed; a passphrase,
 or the machine itself, opens it. A page for browsers administers it.
 .
 The package brings the Node.js that Coffer is tested with, for itself alone.
`
}

const sumsOf = (files: Tree): string =>
  [...files]
    .flatMap(([path, entry]) =>
      entry.type === 'file' && path !== SETTINGS
        ? `${createHash('md5').update(entry.bytes).digest('hex')}  ${path}\n`
        : [],
    )
    .sort()
    .join('')

/** Without a time or a name. */
const zipped = (bytes: Buffer): Buffer => gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION })

/** ar(5), as dpkg takes it. */
function member(name: string, bytes: Buffer, time: number): Buffer[] {
  const owner = '0'.padEnd(6)
  const head = `${name.padEnd(16)}${`${time}`.padEnd(12)}${owner}${owner}${'100644'.padEnd(8)}${`${bytes.length}`.padEnd(10)}\`\n`
  return [Buffer.from(head), bytes, Buffer.alloc(bytes.length % 2, '\n')]
}

/** License texts of the project, of the bundled packages, and of Node. */
export const licensesOf = (root: string, bundle: string, node: string): string[] => [
  `Coffer is published under the license that follows. The licenses of other parts stand after it.\n\n${readFileSync(`${root}/LICENSE`, 'utf8')}`,
  readFileSync(`${bundle}/LICENSES.txt`, 'utf8'),
  `=== Node.js ===\n\n${readFileSync(`${node}/LICENSE`, 'utf8')}`,
]
