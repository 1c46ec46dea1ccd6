/** The programs that make an image: looked for before anything is fetched. */

import { accessSync, constants } from 'node:fs'
import { delimiter } from 'node:path'

const PACKAGES: Readonly<Record<string, string>> = {
  'apt-get': 'apt',
  'dpkg-deb': 'dpkg',
  'mkfs.vfat': 'dosfstools',
  mksquashfs: 'squashfs-tools',
  mmd: 'mtools',
  sgdisk: 'gdisk',
}
const FOR_SECURE_BOOT: Readonly<Record<string, string>> = { sbsign: 'sbsigntool' }

/** Throws an error with the words that install what is missing. Administrators' programs need not be on the path. */
export function requireTools(isForSecureBoot: boolean): void {
  const places = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin']
  const isThere = (tool: string): boolean => places.some((place) => isExecutable(`${place}/${tool}`))
  const needed = { ...PACKAGES, ...(isForSecureBoot && FOR_SECURE_BOOT) }
  const missing = Object.keys(needed).filter((tool) => !isThere(tool))
  if (missing.length === 0) return
  const packages = [...new Set(missing.map((tool) => needed[tool]))].join(' ')
  throw new Error(
    `An image is made with ${missing.join(', ')}, not found here. On Debian: sudo apt install ${packages}`,
  )
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
