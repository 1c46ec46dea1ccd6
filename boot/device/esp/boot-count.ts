/**
 * Boot counting of systemd-boot: `coffer_<version>+<tries left>-<tries done>.efi` loses a try at each start, and ranks last when
 * it has none left. See Automatic Boot Assessment and the Boot Loader Interface of systemd.
 * A version on trial has a counter, and so does a good version while another one exists: its tries are reset each time it is
 * ready. A name without counters is good and not counted.
 */

import { parseVersion } from '../../../firmware/release/version.ts'
import type { ReadVariable } from './efi-variables.ts'

export interface BootEntry {
  /** File name in EFI/Linux. */
  file: string
  version: string
  counter: TriesCounter | null
}

export interface TriesCounter {
  left: number
  done: number
}

export const TRIES = 3
export const ALL_TRIES: TriesCounter = { left: TRIES, done: 0 }
/** Never tried and without tries: starts only if no other version has tries left. */
export const LAST_RESORT: TriesCounter = { left: 0, done: 0 }

const NAME = /^coffer_([0-9.]+)(?:\+(\d{1,3})(?:-(\d{1,3}))?)?\.efi$/i

export function parseEntry(file: string): BootEntry | null {
  const [, version, left, done] = NAME.exec(file) ?? []
  if (version === undefined || parseVersion(version) === null) return null
  return { file, version, counter: left === undefined ? null : { left: Number(left), done: Number(done ?? 0) } }
}

export const entryName = (version: string, counter: TriesCounter | null): string =>
  `coffer_${version}${counter === null ? '' : `+${counter.left}-${counter.done}`}.efi`

export const isLastResort = ({ counter }: BootEntry): boolean => counter?.left === 0 && counter.done === 0

/** Data of the boot loader about this start: file names as systemd-boot saw them, or null. */
export interface BootLoader {
  selected: string | null
  /** File whose tries it has counted. */
  counted: string | null
}

const LOADER = '4a67b082-0a4c-41cf-b6c7-440b29bb8c4f'

/** Null if systemd-boot did not start the machine: then no tries are counted. */
export function readBootLoader(read: ReadVariable): BootLoader | null {
  const selected = text(read('LoaderEntrySelected', LOADER))
  if (selected === null) return null
  const path = text(read('LoaderBootCountPath', LOADER))
  return { selected, counted: path?.split(/[\\/]/).at(-1) ?? null }
}

/**
 * True if this start was a try of the version. The variables alone may be stale: if the UEFI firmware refuses the selected file,
 * another loader may start another one.
 */
export const startedOnTrial = ({ selected, counted }: BootLoader, version: string): boolean =>
  [selected, counted].every((file) => file !== null && parseEntry(file)?.version === version)

function text(value: Uint8Array | null): string | null {
  if (value === null) return null
  return Buffer.from(value).toString('utf16le').replace(/\0.*$/s, '')
}
