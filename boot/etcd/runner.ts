/** How an etcd runs on a platform: as whom, where, and who else reaches its socket. */

import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { syncDirectory } from '../base/files.ts'
import { giveTo } from '../base/owner.ts'
import { openNamelessFile } from './nameless-file.ts'
import { DATA, SOCKET } from './parameters.ts'

export interface EtcdRunner {
  readonly program: string
  /** Put in front of its command line. */
  readonly launcher: readonly string[]
  /** Its own; it runs in it. */
  readonly directory: string
  /** Where it listens for the others, who reach it at this address. Asked at each start of its process. */
  listenUrl(peerUrl: string): string
  /** Makes the directory if need be. Throws an error of the file system. */
  makeDirectory(): void
  /** A file that nobody but it can open. Throws an error of the file system. */
  openFile(bytes: Uint8Array): number
}

export interface EtcdUsers {
  /** Null: everybody is us. */
  etcdId: number | null
  firmwareId: number | null
}

interface RunnerOptions extends Pick<EtcdRunner, 'program' | 'launcher' | 'directory' | 'listenUrl'> {
  users: EtcdUsers
  /** In memory where there is such a place. */
  secretDirectory: string
}

export function createRunner({ users, secretDirectory, ...runner }: RunnerOptions): EtcdRunner {
  return {
    ...runner,
    makeDirectory: () => makeDirectory(runner.directory, users),
    openFile: (bytes) => {
      try {
        return openNamelessFile(secretDirectory, bytes, users.etcdId)
      } catch {
        return openNamelessFile(runner.directory, bytes, users.etcdId) // there is no such place here, or it is full
      }
    },
  }
}

export const socketIn = (directory: string): string => join(directory, SOCKET)
export const dataIn = (directory: string): string => join(directory, DATA)

const TOGETHER = 0o2750 // what is made in it belongs to the firmware's group: the socket, for whose mode a umask cares
const ALONE = 0o700
const ERASED = 'erased'

/** What is in it etcd makes itself: it could put a link there that leads us anywhere. */
function makeDirectory(path: string, { etcdId, firmwareId }: EtcdUsers): void {
  mkdirSync(path, { recursive: true, mode: ALONE })
  if (etcdId !== null && firmwareId !== null) {
    giveTo(path, etcdId) // of an etcd that ran as us
    chownSync(path, etcdId, firmwareId)
    chmodSync(path, TOGETHER)
  }
  syncDirectory(dirname(path))
}

/** Where there is a log, there was a member: etcd's own rule. One that cannot be read may be there. */
export function hasDataIn(directory: string): boolean {
  try {
    return readdirSync(join(dataIn(directory), 'member', 'wal')).some((name) => name.endsWith('.wal'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

/** It goes by another name first, under which nothing takes it for a member's. No link in it is followed. */
export function eraseIn(directory: string): void {
  if (!existsSync(directory)) return
  const erased = join(directory, ERASED)
  remove(erased)
  if (lstatSync(dataIn(directory), { throwIfNoEntry: false }) !== undefined) {
    renameSync(dataIn(directory), erased)
    syncDirectory(directory)
  }
  for (const path of [erased, socketIn(directory)]) remove(path)
  if (readdirSync(directory).length > 0) syncDirectory(directory)
  else {
    rmdirSync(directory)
    syncDirectory(dirname(directory))
  }
}

const remove = (path: string): void => rmSync(path, { recursive: true, force: true })
