/**
 * Makes an image of the appliance: the disk that is flashed, the kernel image that is on it, the update image that
 * brings it to an installed appliance, and the list of what is inside. The same sources give the same bytes.
 */

import { createPublicKey } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import SealedDatabase from 'better-sqlite3-multiple-ciphers'
import { defined } from '../firmware/base/defined.ts'
import { type BundledPackage, bundle as makeBundle } from '../tools/build.ts'
import { assembleImage, makeImage, manifestOf, rawPublicKey } from '../tools/update-image.ts'
import { openBootPrograms } from './boot-programs.ts'
import { TIME } from './contents.ts'
import { makeCpio } from './cpio-writer.ts'
import { makeDisk } from './disk.ts'
import { openEtcdProgram } from './etcd-program.ts'
import { makeInitramfs } from './initramfs.ts'
import { openNodeRuntime, partsOfNode } from './node-runtime.ts'
import { readOptions } from './options.ts'
import { openPackages } from './packages.ts'
import { appendSections } from './pe.ts'
import { expectSame, readPublished } from './published.ts'
import { makeApp, makeBase } from './root.ts'
import { makeSbom } from './sbom.ts'
import { openSecureBoot } from './secure-boot-signing.ts'
import { makeSquashfs } from './squashfs.ts'
import { requireTools } from './tools.ts'
import { addHashTree } from './verity.ts'

const PRODUCT = 'Coffer'

/** Any failure in the kernel restarts the machine. A task that hangs for these seconds counts as failed. */
const RESTART =
  'panic=-1 oops=panic softlockup_panic=1 nmi_watchdog=panic watchdog_thresh=30 ' +
  'hung_task_panic=1 sysctl.kernel.hung_task_timeout_secs=240'
/**
 * No key is a command to the kernel: neither SysRq, on the serial line a break, nor Ctrl-Alt-Del. The last one sends SIGINT to
 * process 1, a shell that ends with it, and the kernel panics. It goes to kthreadd, process 2, which ignores all signals.
 */
const NO_KEYS = 'sysctl.kernel.sysrq=0 sysctl.kernel.ctrl-alt-del=0 sysctl.kernel.cad_pid=2'

const WITHOUT_ETCD =
  'Without Go 1.21 or newer there is no etcd on the image, and no clustering: image/etcd/README.md says where Go comes from.'

const cache = fileURLToPath(new URL('../dist', import.meta.url))

try {
  await build()
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
}

async function build(): Promise<void> {
  const options = readOptions(process.argv.slice(2))
  const { architecture, output } = options
  const releaseKey = options.releaseKey === null ? null : rawPublicKey(createPublicKey(options.releaseKey))
  const published = options.published === null ? null : await readPublished(options.published, defined(releaseKey))
  const { version, minimumVersion, rollbackFloor = '0.0', releaseNotes } = published?.manifest ?? options
  requireTools(options.secureBootKeys !== null)
  const scratch = mkdtempSync(`${tmpdir()}/coffer-image-`)
  try {
    const packages = openPackages(architecture, `${cache}/debian`)
    const node = openNodeRuntime(architecture, `${cache}/node`)
    const etcd = openEtcdProgram(architecture, `${cache}/etcd`)
    if (etcd === null) console.log(WITHOUT_ETCD)
    const bundle = options.bundle ?? `${scratch}/bundle`
    if (options.bundle === null) await makeBundle(bundle, version)

    const base = makeBase({ architecture, packages, node, etcd })
    const release = { product: PRODUCT, version, rollbackFloor }
    const app = makeApp({ architecture, bundle, release, releaseKey: options.releaseKey })
    const initramfs = makeInitramfs(architecture, packages)
    const initrd = makeCpio(initramfs)
    const root = addHashTree(makeSquashfs(base, app, scratch, `${cache}/base`, TIME))

    const programs = openBootPrograms(architecture, packages)
    // The kernel's tests of its own cryptography take an emulated processor a second; what of it is used, SHA-256, is
    // tested by the root file system: it does not open otherwise.
    const commandLine =
      `console=${architecture.console} ${architecture.kernelParameters}cryptomgr.notests ${RESTART} ${NO_KEYS} quiet ` +
      `coffer.root=${root.blocks}:${root.rootHash}`
    const secureBoot = openSecureBoot(options.secureBootKeys, scratch)
    const unsigned = appendSections(programs.stub.bytes, [
      { name: '.osrel', bytes: Buffer.from(osRelease(version)) },
      { name: '.cmdline', bytes: Buffer.from(`${commandLine}\0`) },
      { name: '.initrd', bytes: initrd },
      { name: '.linux', bytes: programs.kernel.bytes },
    ])
    const uki = secureBoot.sign(unsigned)

    mkdirSync(output, { recursive: true })
    const write = (name: string, content: string | Uint8Array) => writeFileSync(`${output}/${name}`, content)
    write('vmlinuz', programs.kernel.bytes)
    write('initrd', initrd)
    write('cmdline', `${commandLine}\n`)
    write(`coffer-${version}.efi`, uki)
    write(`coffer-${version}.root`, root.bytes)
    write(
      `coffer-${version}.cdx.json`,
      makeSbom({
        ...{ architecture, version, time: TIME, packages: packages.all, node, nodeParts: partsOfNode(node), etcd },
        bundled: JSON.parse(readFileSync(`${bundle}/packages.json`, 'utf8')) as BundledPackage[],
        sqlite: {
          'better-sqlite3': sqliteVersion(new Database(':memory:')),
          'better-sqlite3-multiple-ciphers': sqliteVersion(new SealedDatabase(':memory:')),
        },
        files: {
          root: new Map([...base, ...app]),
          initramfs,
          boot: new Map(Object.entries(programs)),
        },
      }),
    )
    const payload = [
      { name: `coffer-${architecture.name}.efi`, bytes: uki },
      { name: `coffer-${architecture.name}.root`, bytes: root.bytes },
    ]
    const said = { ...release, minimumVersion, releaseNotes }
    if (options.signingKey !== null) write(`coffer-${version}.update`, makeImage(said, payload, options.signingKey))
    else if (published !== null) {
      const manifest = manifestOf(said, payload)
      expectSame(published.manifest, manifest)
      write(`coffer-${version}.update`, assembleImage(payload, { ...published, manifest }, defined(releaseKey)))
    }
    const files = [
      { path: `EFI/BOOT/${architecture.defaultLoader}`, bytes: secureBoot.sign(programs.loader.bytes) },
      { path: `EFI/Linux/coffer_${version}.efi`, bytes: uki },
      { path: 'loader/loader.conf', bytes: Buffer.from(`timeout 0\neditor no\n${secureBoot.settings}`) },
      ...secureBoot.files,
    ]
    const disk = `${output}/coffer-${version}.img`
    makeDisk(disk, scratch, { files, root: root.bytes }, TIME)
    console.log(`${disk}: Coffer ${version} for ${architecture.name}`)
  } finally {
    rmSync(scratch, { recursive: true })
  }
}

/** Version in the package, whose addons for all architectures are built from the same sources. */
function sqliteVersion(database: Database.Database): string {
  try {
    return database.prepare('SELECT sqlite_version()').pluck().get() as string
  } finally {
    database.close()
  }
}

/** os-release(5); the boot loader shows and sorts images by what it says. */
function osRelease(version: string): string {
  return `NAME=Coffer\nID=coffer\nPRETTY_NAME="Coffer ${version}"\nVERSION_ID=${version}\n`
}
