/** Platform's environment of etcd: its user, its directory, and access to its socket. */

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
  readonly launcher: readonly string[]
  /** etcd's own working directory. */
  readonly directory: string
  /** Listening address for other members, who use `peerUrl`. Called at each start of etcd. */
  listenUrl(peerUrl: string): string
  /** Throws an error of the file system. */
  makeDirectory(): void
  /** Opens a file that only etcd can open. Throws an error of the file system. */
  openFile(bytes: Uint8Array): number
}

export interface EtcdUsers {
  /** Null if all processes have the boot manager's user. */
  etcdId: number | null
  firmwareId: number | null
}

interface RunnerOptions extends Pick<EtcdRunner, 'program' | 'launcher' | 'directory' | 'listenUrl'> {
  users: EtcdUsers
  /** In memory if possible. */
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
        return openNamelessFile(runner.directory, bytes, users.etcdId) // no such directory, or it is full
      }
    },
  }
}

export const socketIn = (directory: string): string => join(directory, SOCKET)
export const dataIn = (directory: string): string => join(directory, DATA)

const TOGETHER = 0o2750 // files in it belong to the firmware's group; the mode of the socket depends on the umask
const ALONE = 0o700
const ERASED = 'erased'

/** Creates only the directory. etcd creates the content itself, since it could place a link there to misdirect the boot manager. */
function makeDirectory(path: string, { etcdId, firmwareId }: EtcdUsers): void {
  mkdirSync(path, { recursive: true, mode: ALONE })
  if (etcdId !== null && firmwareId !== null) {
    giveTo(path, etcdId) // files of an etcd that ran as the boot manager's user
    chownSync(path, etcdId, firmwareId)
    chmodSync(path, TOGETHER)
  }
  syncDirectory(dirname(path))
}

/** True if a member's log exists, which is etcd's own rule. True also if the directory cannot be read. */
export function hasDataIn(directory: string): boolean {
  try {
    return readdirSync(join(dataIn(directory), 'member', 'wal')).some((name) => name.endsWith('.wal'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

/** Renames the directory first, so that it no longer counts as a member's. Follows no links. */
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
