/** The chat as backups see it: files whose pages are sealed by a key that is derived from the domain key. */

import type { DeviceArea } from '../store/device-area.ts'

/** Bytes of a file of the chat, in their order. */
export interface ChatPiece {
  file: string
  offset: number
  bytes: Uint8Array
}

/** All files as they were at one moment. */
export interface ChatCopy {
  pieces(): AsyncIterable<ChatPiece>
  /** A second call does nothing. */
  end(): void
}

export interface ChatBackups {
  readonly exists: boolean
  /** Null when it has failed, which is logged. Throws `busy` while another is being made, `unavailable` while it starts. */
  copy(): Promise<ChatCopy | null>
  /**
   * Writes the chat of a backup to disk beside the present one, and resolves with its name once all of it is there. It stays, even
   * if its process ends, until `settled`, which has to be called.
   */
  receive(pieces: Iterable<ChatPiece>): Promise<string>
  /**
   * Within the transaction that replaces the records: what was received counts from now on. Where nothing was, the present
   * one stays while its key does, and goes with it.
   */
  replace(device: DeviceArea, received: string | null, keyStays: boolean): void
  /** The restore is over, and was done or not. Without effect when nothing of the chat was in it. */
  settled(isReplaced: boolean): void
}
