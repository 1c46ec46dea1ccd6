/**
 * Marks on the ESP about the data partition, which tell the next start what a power cut has interrupted. The good version is
 * stored there, too, since its record on the partition is lost with the partition.
 */

import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { parseVersion } from '../../firmware/release/version.ts'
import { syncDirectory, writeDurably } from '../base/files.ts'

export interface DataMarks {
  isMade(): boolean
  /** True from the decision to make the partition until it is complete. */
  isToBeMade(): boolean
  /** The good version at the time of that decision; null if none was known. */
  goodVersion(): string | null
  setToBeMade(goodVersion: string | null): void
  setMade(): void
}

interface DataMarksOptions {
  directory: string
  change: (write: () => void) => void
}

const GOOD_VERSION = 'good-version'
const TO_BE_MADE = 'make-data'
const MADE = 'data-made'

export function createDataMarks({ directory, change }: DataMarksOptions): DataMarks {
  const path = (name: string) => `${directory}/${name}`
  const isSet = (name: string) => existsSync(path(name))
  const set = (name: string) => {
    if (isSet(name)) return
    change(() => {
      mkdirSync(directory, { recursive: true })
      closeSync(openSync(path(name), 'w'))
      syncDirectory(directory)
    })
  }
  const clear = (name: string) => {
    if (!isSet(name)) return
    change(() => {
      rmSync(path(name))
      syncDirectory(directory)
    })
  }
  const writeGoodVersion = (version: string) =>
    change(() => {
      mkdirSync(directory, { recursive: true })
      writeDurably(path(GOOD_VERSION), Buffer.from(version))
    })

  return {
    isMade: () => isSet(MADE),
    isToBeMade: () => isSet(TO_BE_MADE),
    goodVersion: () => {
      if (!isSet(GOOD_VERSION)) return null
      const text = readFileSync(path(GOOD_VERSION), 'utf8')
      return parseVersion(text) === null ? null : text
    },
    // The version first: it has no meaning without the other mark.
    setToBeMade: (goodVersion) => {
      if (isSet(TO_BE_MADE)) return
      if (goodVersion === null) clear(GOOD_VERSION)
      else writeGoodVersion(goodVersion)
      set(TO_BE_MADE)
    },
    setMade: () => {
      set(MADE)
      clear(TO_BE_MADE)
      clear(GOOD_VERSION)
    },
  }
}
