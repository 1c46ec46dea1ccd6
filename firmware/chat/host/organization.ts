/**
 * The organization is made and erased: what the device area says of it goes ahead, so that a power cut leaves one that is
 * there or one that is still to be erased. Contract section 3.8.
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
  /** Throws `conflict` where there is one. Wipes the password. */
  create(organization: NewOrganization, password: Uint8Array): Promise<void>
  /** Throws `notFound` where there is none, `invalid` when that is not its name. Nothing of it is left afterwards. */
  delete(name: string): Promise<void>
  /** What a power cut left of an erasure, or of a making. */
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

  /** There is no organization any more, and no process. */
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
      // One that cannot be opened has a name that nobody can read.
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
      if (chatTls.identity === undefined) chatTls.reload()
      await eraseAll()
    },
  }
}

export const askStatistics = async (connection: ChatConnection): Promise<Statistics> =>
  expectShape(figuresSchema, await connection.ask({ do: 'figures' }))

export const newGeneration = (random: Random): string => bytesToHex(random(GENERATION_BYTES))

export const noOrganization = () => new CofferError('notFound', 'There is no organization')
