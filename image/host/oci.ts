/**
 * Coffer as an image for containers, made without a daemon: an archive of the OCI image layout. OCI Image Format
 * Specification 1.1: image-layout.md, manifest.md, config.md, layer.md.
 */

import { createHash } from 'node:crypto'
import { constants, gzipSync } from 'node:zlib'
import type { Architecture } from '../architecture.ts'
import { BUSYBOX } from '../contents.ts'
import { addLibraries } from '../libraries.ts'
import type { Packages } from '../packages.ts'
import { COFFER } from '../root.ts'
import { bytesOf, directory, fileOf, link, type Tree } from '../tree.ts'
import { PLACE } from './program.ts'
import { makeTar } from './tar.ts'

/** Debian packages of programs that the boot manager starts, and of libraries that these programs and Node need. */
export const OCI_PACKAGES = ['busybox-static', 'libc6', 'libcap-ng0', 'libgcc-s1', 'libstdc++6', 'util-linux']

/** Default user of containers. */
const USER = 10_000
const DATA = 'data'
const API_PORT = 8443
const CHAT_PORT = 9443

const ACCOUNTS = {
  'etc/passwd': `root:x:0:0:root:/:/bin/false\ncoffer:x:${USER}:${USER}:Coffer:/${DATA}:/bin/false\n`,
  'etc/group': `root:x:0:\ncoffer:x:${USER}:\n`,
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
}

interface OciOptions {
  architecture: Architecture
  packages: Packages
  program: Tree
  licenses: string
  version: string
  /** Time of the image and of every file in it, in seconds since 1970. */
  time: number
}

export function makeOci(options: OciOptions): Buffer {
  const { architecture, version, time } = options
  const tar = makeTar(makeRoot(options), {
    prefix: '',
    time,
    ownerOf: (path) => (path === DATA ? USER : 0),
    modeOf: (path) => (path === DATA ? 0o700 : path === 'tmp' ? 0o1777 : undefined),
  })
  const created = new Date(time * 1000).toISOString().replace('.000', '')
  const platform = { architecture: architecture.debian, os: 'linux' }
  const labels = {
    'org.opencontainers.image.title': 'Coffer',
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': 'Apache-2.0',
  }
  const blobs: Tree = new Map()
  const add = (mediaType: string, bytes: Buffer) => {
    const digest = sha256(bytes)
    blobs.set(`blobs/sha256/${digest}`, bytesOf(bytes, COFFER))
    return { mediaType, digest: `sha256:${digest}`, size: bytes.length }
  }
  const json = (mediaType: string, value: object) => add(mediaType, Buffer.from(JSON.stringify(value)))

  const layer = add(
    'application/vnd.oci.image.layer.v1.tar+gzip',
    gzipSync(tar, { level: constants.Z_BEST_COMPRESSION }),
  )
  const config = json('application/vnd.oci.image.config.v1+json', {
    created,
    ...platform,
    config: {
      User: `${USER}:${USER}`,
      ExposedPorts: { [`${API_PORT}/tcp`]: {}, [`${CHAT_PORT}/tcp`]: {} },
      Env: ['PATH=/usr/bin', `COFFER_DATA=/${DATA}`, 'COFFER_HOST=0.0.0.0'],
      Entrypoint: [`/${PLACE}/node`, `/${PLACE}/boot.js`],
      Volumes: { [`/${DATA}`]: {} },
      WorkingDir: '/',
      StopSignal: 'SIGTERM',
      Labels: labels,
    },
    rootfs: { type: 'layers', diff_ids: [`sha256:${sha256(tar)}`] },
    history: [{ created, created_by: 'make oci' }],
  })
  const type = 'application/vnd.oci.image.manifest.v1+json'
  const manifest = json(type, { schemaVersion: 2, mediaType: type, config, layers: [layer], annotations: labels })
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        ...manifest,
        platform,
        annotations: {
          'org.opencontainers.image.ref.name': version, // as skopeo and podman call it
          'io.containerd.image.name': `docker.io/library/coffer:${version}`, // as Docker does
        },
      },
    ],
  }
  const layout: Tree = new Map(blobs)
  layout.set('oci-layout', bytesOf(Buffer.from('{"imageLayoutVersion":"1.0.0"}'), COFFER))
  layout.set('index.json', bytesOf(Buffer.from(JSON.stringify(index)), COFFER))
  return makeTar(layout, { prefix: '', time })
}

function makeRoot({ architecture, packages, program, licenses }: OciOptions): Tree {
  const tree: Tree = new Map(program)
  for (const path of [DATA, 'dev', 'proc', 'sys', 'tmp']) tree.set(path, directory)
  const utilities = packages.get('util-linux')
  for (const name of ['flock', 'setpriv'])
    tree.set(`usr/bin/${name}`, fileOf(`${utilities.directory}/usr/bin/${name}`, utilities.name, true))
  // The boot manager tries with a shell whether the firmware's user reaches its files, where it is root.
  const busybox = packages.get(BUSYBOX.package)
  tree.set('usr/bin/busybox', fileOf(`${busybox.directory}/${BUSYBOX.path}`, busybox.name, true))
  tree.set('usr/bin/sh', link('busybox'))
  tree.set('bin', link('usr/bin'))
  for (const [path, text] of Object.entries(ACCOUNTS)) tree.set(path, bytesOf(Buffer.from(text), COFFER))
  tree.set('usr/share/doc/coffer/copyright', bytesOf(Buffer.from(licenses), COFFER))
  addLibraries(tree, architecture, packages)
  return tree
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
