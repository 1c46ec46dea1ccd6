/** Checks, as far as possible, whether a unified kernel image would start on this machine. */

import { SlotError } from '../../versions/slot-error.ts'
import { isRoot, readRootName } from '../system/root-file-system.ts'
import { openPortableExecutable, PeError, type PortableExecutable } from './portable-executable.ts'
import { refuseUnsigned, type SecureBootState } from './secure-boot.ts'

export type MachineArchitecture = 'x64' | 'arm64'

const MACHINES: Readonly<Record<MachineArchitecture, number>> = { x64: 0x8664, arm64: 0xaa64 } // PE format, "Machine Types"
const SECTIONS = ['.osrel', '.cmdline', '.initrd', '.linux'] // systemd-stub(7)

export interface Expected {
  architecture: MachineArchitecture
  version: string
  root: string
  secureBoot: SecureBootState | null
}

/** Throws a SlotError with the reason if the image would not start. */
export function inspectKernelImage(path: string, expected: Expected): void {
  try {
    const program = openPortableExecutable(path)
    try {
      inspect(program, expected)
    } finally {
      program.close()
    }
  } catch (error) {
    if (error instanceof PeError) throw new SlotError(`The image cannot be started: ${error.message}`)
    throw error
  }
}

function inspect(program: PortableExecutable, { architecture, version, root, secureBoot }: Expected): void {
  if (program.machine !== MACHINES[architecture]) throw new SlotError('The image is for another kind of processor')
  const sectionOf = (needed: string) => {
    const section = program.sections.find(({ name }) => name === needed)
    if (section === undefined) throw new SlotError(`The image cannot be started: it has no section ${needed}`)
    return section
  }
  for (const needed of SECTIONS) sectionOf(needed)
  const read = (section: string) => program.read(sectionOf(section))
  // The boot loader sorts by this version: with another one, the image would start out of order.
  const named = releaseVersion(read('.osrel'))
  if (named !== version) throw new SlotError(`The image says that it is version ${named}, its manifest says ${version}`)
  const rootName = readRootName(read('.cmdline').toString())
  if (rootName === null) throw new SlotError('The image cannot be started: its kernel names no root file system')
  if (!isRoot(root, rootName)) throw new SlotError('The kernel of the image belongs to another root file system')
  if (secureBoot !== null) refuseUnsigned(program, secureBoot)
}

/** os-release(5), with the fields that systemd's Boot Loader Specification names. */
function releaseVersion(bytes: Buffer): string {
  const fields = new Map<string, string>()
  for (const line of bytes.toString().split('\n')) {
    const [, name, value] = /^([A-Z_]+)=(.*?)\0*$/.exec(line) ?? []
    if (name !== undefined && value !== undefined) fields.set(name, value.replace(/^(["'])(.*)\1$/, '$2'))
  }
  for (const field of ['IMAGE_VERSION', 'VERSION', 'VERSION_ID', 'BUILD_ID'])
    if (fields.has(field)) return fields.get(field) ?? 'unknown'
  return 'unknown'
}
