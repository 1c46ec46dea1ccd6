/**
 * Parts of an image as CycloneDX 1.6 JSON: each Debian package, Node and its parts, etcd and its modules, each npm package
 * that is bundled, and below all but the last and below Coffer itself the files that came from them, by their hashes.
 */

import { createHash } from 'node:crypto'
import type { BundledPackage } from '../tools/build.ts'
import type { Architecture } from './architecture.ts'
import { RELEASE } from './debian.ts'
import type { EtcdProgram } from './etcd-program.ts'
import type { NodeRuntime } from './node-runtime.ts'
import type { UnpackedPackage } from './packages.ts'
import { COFFER } from './root.ts'
import type { Tree } from './tree.ts'

/** Where on the image a file is: the read-only root, the initramfs, or before both: boot loader, stub and kernel. */
type ImagePart = 'root' | 'initramfs' | 'boot'

export interface Contents {
  architecture: Architecture
  version: string
  /** In seconds. */
  time: number
  packages: readonly UnpackedPackage[]
  node: NodeRuntime
  /** Node's own parts and their versions, as `process.versions` names them. */
  nodeParts: Readonly<Record<string, string>>
  etcd: EtcdProgram | null
  bundled: readonly BundledPackage[]
  /** Version of SQLite in the addon of each package that has one. */
  sqlite: Readonly<Record<string, string>>
  files: Readonly<Record<ImagePart, Tree>>
}

/** Throws when a package is there for nothing, or a file comes from nowhere: then the recipe says something wrong. */
export function makeSbom(contents: Contents): string {
  const { architecture, version, time, packages, node, nodeParts, etcd, sqlite, bundled } = contents
  const files = filesByOrigin(contents.files)
  const filesOf = (origin: string) => {
    const found = files.get(origin)
    if (found === undefined) throw new Error(`nothing on the image comes from ${origin}`)
    files.delete(origin)
    return found
  }
  const components = [
    ...packages.map((debian) => ({
      type: debian.name.startsWith('linux-image-') ? 'operating-system' : 'library',
      'bom-ref': `deb:${debian.name}`,
      name: debian.name,
      version: debian.version,
      purl: `pkg:deb/debian/${encode(debian.name)}@${encode(debian.version)}?arch=${architecture.debian}&distro=${RELEASE}`,
      hashes: [{ alg: 'SHA-256', content: debian.sha256 }],
      components: filesOf(debian.name),
    })),
    {
      type: 'platform',
      'bom-ref': 'node',
      name: node.name,
      version: node.version,
      purl: `pkg:npm/${node.name}@${node.version}`,
      hashes: [
        { alg: 'SHA-512', content: Buffer.from(node.integrity.slice('sha512-'.length), 'base64').toString('hex') },
      ],
      components: [
        ...Object.entries(nodeParts).map(([name, version]) => ({ type: 'library', name, version })),
        ...filesOf(node.name),
      ],
    },
    ...(etcd === null ? [] : [{ ...componentOf(etcd), components: [...partsOf(etcd), ...filesOf(etcd.name)] }]),
    ...bundled.map(({ name, version, license }) => ({
      type: 'library',
      'bom-ref': `npm:${name}`,
      name,
      version,
      purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      licenses: [{ expression: license }],
      ...(name in sqlite && {
        components: [{ type: 'library', name: 'sqlite', version: sqlite[name] }, ...filesOf(name)],
      }),
    })),
  ]
  const product = {
    type: 'firmware',
    'bom-ref': COFFER,
    name: 'Coffer',
    version,
    licenses: [{ expression: 'Apache-2.0' }],
    components: filesOf(COFFER),
  }
  for (const origin of files.keys()) throw new Error(`${origin} is neither a package nor Coffer`)

  const body = {
    version: 1,
    metadata: { timestamp: new Date(time * 1000).toISOString(), component: product },
    components,
    dependencies: [{ ref: COFFER, dependsOn: components.map((component) => component['bom-ref']) }],
  }
  const head = { bomFormat: 'CycloneDX', specVersion: '1.6', serialNumber: `urn:uuid:${uuidOf(JSON.stringify(body))}` }
  return `${JSON.stringify({ ...head, ...body }, null, 2)}\n`
}

const componentOf = ({ name, version }: EtcdProgram) => ({
  type: 'application',
  'bom-ref': name,
  name,
  version,
  licenses: [{ expression: 'Apache-2.0' }],
})

/** The runtime of Go and each module whose code is in it, by their packages' hash: `go.sum`. */
const partsOf = ({ go, modules }: EtcdProgram) => [
  { type: 'platform', name: 'go', version: go.version, licenses: [{ expression: go.license }] },
  ...modules.map(({ path, version, license, sum }) => ({
    type: 'library',
    name: path,
    version,
    purl: `pkg:golang/${path}@${encode(version)}`,
    licenses: [{ expression: license }],
    properties: [{ name: 'coffer:go.sum', value: sum }],
  })),
]

/** One component of CycloneDX for each file. */
function filesByOrigin(places: Contents['files']) {
  const found = Object.entries(places).flatMap(([place, tree]) =>
    [...tree].flatMap(([path, entry]) => {
      if (entry.type !== 'file') return []
      const sha256 = createHash('sha256').update(entry.bytes).digest('hex')
      const file = {
        type: 'file',
        name: path,
        hashes: [{ alg: 'SHA-256', content: sha256 }],
        properties: [{ name: 'coffer:place', value: place }],
      }
      return [{ origin: entry.origin, file }]
    }),
  )
  const byOrigin = Map.groupBy(found, ({ origin }) => origin)
  return new Map([...byOrigin].map(([origin, found]) => [origin, found.map(({ file }) => file)]))
}

const encode = (text: string): string => encodeURIComponent(text)

/** The same content has the same number: RFC 9562, version 8. */
function uuidOf(content: string): string {
  const bytes = createHash('sha256').update(content).digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
