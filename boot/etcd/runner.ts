/** How an etcd runs on a platform: as whom, where, and who else reaches its socket. */

import { chmodSync, chownSync, existsSync, lchownSync, mkdirSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { syncDirectory } from '../base/files.ts'
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

export interface Users {
  /** Null: everybody is us. */
  etcdId: number | null
  firmwareId: number | null
}

export interface RunnerOptions extends Pick<EtcdRunner, 'program' | 'launcher' | 'directory' | 'listenUrl'> {
  users: Users
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

function makeDirectory(path: string, { etcdId, firmwareId }: Users): void {
  const data = dataIn(path)
  mkdirSync(data, { recursive: true, mode: ALONE })
  if (etcdId !== null && firmwareId !== null) {
    giveTo(data, etcdId)
    chownSync(path, etcdId, firmwareId)
    chmodSync(path, TOGETHER)
    chmodSync(data, ALONE) // and not the group's, which it had from above
  }
  syncDirectory(path)
  syncDirectory(dirname(path))
}

function giveTo(path: string, id: number): void {
  lchownSync(path, id, id)
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inside = join(path, entry.name)
    if (entry.isDirectory()) giveTo(inside, id)
    else lchownSync(inside, id, id)
  }
}

/** Where there is a log, there was a member: etcd's own rule. One that cannot be read may be there. */
export function hasDataIn(directory: string): boolean {
  try {
    return readdirSync(join(dataIn(directory), 'member', 'wal')).some((name) => name.endsWith('.wal'))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

/** The log goes first: without it nothing takes the rest for a member's. */
export function eraseIn(directory: string): void {
  const logs = join(dataIn(directory), 'member', 'wal')
  if (existsSync(logs)) {
    rmSync(logs, { recursive: true })
    syncDirectory(dirname(logs))
  }
  for (const path of [dataIn(directory), socketIn(directory)]) rmSync(path, { recursive: true, force: true })
  if (!existsSync(directory)) return
  if (readdirSync(directory).length > 0) syncDirectory(directory)
  else {
    rmdirSync(directory)
    syncDirectory(dirname(directory))
  }
}
