/** An incoming version: at most one, in a directory of its own, until it is moved to a slot. */

import { rmSync } from 'node:fs'
import type { SlotStep } from '../../firmware/channel/protocol.ts'
import type { Manifest } from '../../firmware/release/manifest.ts'
import { type IncomingFiles, type IncomingSteps, openIncoming } from './files.ts'
import { SlotError } from './slot-error.ts'

export interface Incoming {
  /** Throws a SlotError, or an error of the file system. */
  take(step: Extract<SlotStep, { do: 'begin' | 'write' | 'finish' }>): void
  /** Manifest of the complete, verified version. Throws a SlotError if there is none. */
  ready(): Manifest
  /** Call it after the version was moved to a slot. */
  taken(): void
  drop(): void
}

interface IncomingOptions extends IncomingSteps {
  /** Exists only while a version is incoming. */
  directory: string
  /** Null if none is installed: then no version is accepted. */
  releaseKey: Uint8Array | null
  /** Throws a SlotError if the files are authentic but would not run on this machine. */
  inspect?(manifest: Manifest): void
}

export function createIncoming({ directory, releaseKey, inspect, ...steps }: IncomingOptions): Incoming {
  let files: IncomingFiles | null = null
  let verified: Manifest | null = null

  const drop = () => {
    files?.close()
    files = null
    verified = null
    rmSync(directory, { recursive: true, force: true })
  }
  const begun = () => {
    if (files === null) throw new SlotError('No upload has begun')
    return files
  }
  return {
    drop,
    take: (step) => {
      switch (step.do) {
        case 'begin':
          drop()
          if (releaseKey === null) throw new SlotError('There is no release key')
          files = openIncoming(directory, step, releaseKey, steps)
          break
        case 'write':
          begun().write(step.name, step.bytes)
          break
        case 'finish':
          begun().finish()
          inspect?.(begun().manifest)
          verified = begun().manifest
          break
      }
    },
    ready: () => {
      if (verified === null) throw new SlotError('No version is ready')
      return verified
    },
    taken: () => {
      files = null
      verified = null
    },
  }
}
