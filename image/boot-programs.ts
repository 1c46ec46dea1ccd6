/** Programs that run before any of Coffer's: the boot loader, the stub that starts a unified kernel image, and the kernel. */

import type { Architecture } from './architecture.ts'
import { filesBelow, type Packages } from './packages.ts'
import { type FileEntry, fileOf } from './tree.ts'

interface BootPrograms {
  loader: FileEntry
  stub: FileEntry
  kernel: FileEntry
}

export function openBootPrograms({ stub, loader }: Architecture, packages: Packages): BootPrograms {
  const { name, directory } = packages.get('systemd-boot-efi')
  const efi = `${directory}/usr/lib/systemd/boot/efi`
  const boot = `${packages.kernel.directory}/boot`
  const kernel = filesBelow(boot).find((file) => file.startsWith('vmlinuz-'))
  return {
    loader: fileOf(`${efi}/${loader}`, name),
    stub: fileOf(`${efi}/${stub}`, name),
    kernel: fileOf(`${boot}/${kernel}`, packages.kernel.name),
  }
}
