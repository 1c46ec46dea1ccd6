/**
 * Creates and erases the organization. The device area is written first, so that after a power failure the organization either exists or is
 * still to be erased. Contract section 3.8.
 */

import { bytesToHex } from '@noble/hashes/utils.js'
import * as z from 'zod'
import type { Appliance } from '../../appliance/appliance.ts'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import type { Random } from '../../crypto/random.ts'
import { makeTlsIdentity } from '../../crypto/tls/identity.ts'
import { CHAT_TLS_IDENTITY } from '../../store/device-area.ts'
import type { NewOrganization, Statistics } from '../link/link.ts'
import { type ChatConnection, expectShape } from './chat-connection.ts'
import type { CommitCounterStore } from './commit-counter-store.ts'
import type { ChatProcess } from './process.ts'
import { type ChatRecord, readRecord, writeRecord } from './record.ts'

interface OrganizationOptions {
  appliance: Appliance
  process: ChatProcess
  commits: CommitCounterStore
  random: Random
  chatKey: () => Uint8Array
}

export interface KeptOrganization {
  readonly record: ChatRecord | null
  /** Throws `conflict` if there is an organization. Wipes the password. */
  create(organization: NewOrganization, password: Uint8Array): Promise<void>
  /** Deletes all data of the organization. Throws `notFound` without one, and `invalid` if `name` is not its name. */
  delete(name: string): Promise<void>
  /** Completes an erasure, or removes an unfinished creation, after a power failure. */
  eraseRest(): Promise<void>
}

const GENERATION_BYTES = 8
const NAME_CHARACTERS_MAX = 20

const figuresSchema = z.object({
  name: z.string(),
  url: z.string(),
  users: z.number(),
  messages: z.number(),
  bytes: z.number(),
  queues: z.number(),
  commits: z.number(),
  exportKey: z.string().regex(/^[0-9a-f]{64}$/),
  older: z.array(z.string().max(NAME_CHARACTERS_MAX)).max(2),
})

export function keepOrganization(options: OrganizationOptions): KeptOrganization {
  const { appliance, process, commits, random, chatKey } = options
  const { deviceRecords } = appliance
  const { chatTls } = appliance.configuration

  function forget(): void {
    commits.forget()
    writeRecord(deviceRecords, null)
    process.end()
  }

  async function eraseAll(): Promise<void> {
    process.closed()
    process.want('running')
    await (await process.listening()).ask({ do: 'erase' })
    forget()
  }

  return {
    get record() {
      return readRecord(deviceRecords)
    },
    async create(organization, password) {
      if (readRecord(deviceRecords) !== null) throw new CofferError('conflict', 'There already is an organization')
      const key = chatKey()
      const generation = newGeneration(random)
      process.retry()
      const identity = await makeTlsIdentity(random, undefined, chatTls.names)
      writeRecord(deviceRecords, { generation, stage: 'making' })
      deviceRecords.write((area) => area.putTlsIdentity(identity, CHAT_TLS_IDENTITY))
      chatTls.use(identity)
      try {
        process.want('running')
        const connection = await process.listening()
        process.spend()
        await connection.ask({ do: 'create', generation, chatKey: key, organization, password })
        writeRecord(deviceRecords, { generation, stage: 'present' })
        process.opened()
      } catch (error) {
        try {
          if (process.connection === null || process.port === null) forget()
          else await eraseAll()
        } catch {} // the next unlock does it
        throw error
      } finally {
        wipe(key)
        wipe(password)
      }
    },
    async delete(name) {
      const record = readRecord(deviceRecords)
      if (record === null) throw noOrganization()
      // The name of an organization that cannot be opened is unreadable, so any name is accepted.
      if (process.isOpen && process.connection !== null) {
        const figures = await askStatistics(process.connection)
        if (figures.name !== name) throw new CofferError('invalid', 'That is not the name of the organization')
      }
      process.retry()
      writeRecord(deviceRecords, { ...record, stage: 'erasing' })
      await eraseAll()
    },
    async eraseRest() {
      process.retry()
      if (chatTls.identityIfAny === undefined) chatTls.reload()
      await eraseAll()
    },
  }
}

export const askStatistics = async (connection: ChatConnection): Promise<Statistics> =>
  expectShape(figuresSchema, await connection.ask({ do: 'figures' }))

export const newGeneration = (random: Random): string => bytesToHex(random(GENERATION_BYTES))

export const noOrganization = () => new CofferError('notFound', 'There is no organization')
