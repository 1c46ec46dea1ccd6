/**
 * A node's copy of the records of a cluster. etcd is the order of changes: each is one transaction that was made on the head it was
 * decided on, and brings the next one. This node adopts one after the other, and relies on none that does not come to what its head
 * says. What it reads it reads from its own copy.
 */

import { setTimeout as wait } from 'node:timers/promises'
import { actAlone } from '../../base/admission.ts'
import { CofferError, unavailable } from '../../base/error.ts'
import { inSlices } from '../../base/slices.ts'
import type { Random } from '../../crypto/random.ts'
import { equalBytes } from '../../crypto/seal.ts'
import type { Head } from '../../store/head.ts'
import { areSameSets } from '../../store/record-set.ts'
import type { Decision, Row } from '../../store/store.ts'
import type { Step, VaultCopy } from '../../store/vault-copy.ts'
import { EtcdError } from '../etcd/error.ts'
import type { Entry, Etcd, Revision, Write } from '../etcd/etcd.ts'
import { compareAll, refusing } from './compare-all.ts'
import { Contact, newestHead, type ReplicaState } from './contact.ts'
import { type ClusterHead, createHeadSealer } from './head.ts'
import { PATIENCE, type Patience } from './patience.ts'
import { HEAD_KEY, OBSOLETE, PREFIX, parseRecordKey } from './places.ts'
import type { Position, PositionRow } from './position.ts'
import { alongsideOf, createProposals, noQuorum, type Proposal } from './proposals.ts'
import { Refusal, refusalOf } from './refusal.ts'
import { type Replacement, removeObsolete, writeReplacement } from './replacement.ts'
import { Trouble } from './trouble.ts'

const FIGURES_MS_MAX = 500
const ID_BYTES = 12
/** A learner is told of no change, and reads all after each: that much longer it then does not. */
const LEARNER_REST = 10

export interface ReplicaOptions {
  etcd: Etcd
  domainKey: Uint8Array
  /** Makes the store a copy whose changes are made here. */
  replicate(change: <T>(decide: () => Decision<T>) => Promise<T>): VaultCopy
  /** Of this node, in the heads of its changes. */
  member: string
  random: Random
  /** Must never jump. */
  nowMs?: () => number
  patience?: Patience
  /** What is known of the cluster since before. */
  contact?: Contact
  position: PositionRow
  /** Of a node that has nothing yet: what the cluster had when it was registered. */
  least?: Head | null
  /** It follows no more. */
  onRefusal(refusal: Refusal): void
  /** Something failed that will be tried again. */
  onTrouble(what: string): void
  /** Called after each look at whether the cluster answers. */
  onBeat?(): void
}

export interface Replica {
  readonly state: ReplicaState
  /** Since the cluster answered last; 0 while it answers. */
  readonly lostMs: number
  /** Since this node had what the others have: they do not answer, or it cannot take it. 0 while it has. */
  readonly behindMs: number
  /** What keeps it from that, though they answer; it is tried again. Null for nothing. */
  readonly trouble: string | null
  /** Why nothing is followed any more, or null. */
  readonly refusal: string | null
  /** How often another node was faster. */
  readonly conflicts: number
  /** The number of the change that was adopted last. */
  readonly n: number
  /** What this node's etcd says of itself; null where it does not answer. */
  figures(): Promise<{ members: number; databaseBytes: number; isLeader: boolean } | null>
  /** Ends when this node has got what the others had when it began; throws what ended it before. */
  caughtUp(): Promise<void>
  /**
   * Ends when what lies here may be used: it is what the others had, or that does not come or is refused, and there is a copy of
   * before. Throws `busy` or `storage` where there is none, or this software cannot know what it means.
   */
  usable(): Promise<void>
  /**
   * True when this node has adopted whatever was done before the call; false, at once, while the cluster does not answer, or what it
   * has cannot be taken.
   */
  barrier(): Promise<boolean>
  /** Call when all that lies here was looked at: what is damaged is replaced by what the others have. */
  repair(): void
  /**
   * Puts these records in the place of all, on every node: replacement.ts. Ends when this node has them. Throws `unavailable` where
   * another domain key has sealed them, `invalid` for damaged ones, `busy`; only with the last it is not known whether it was done.
   */
  replaceAll(rows: Iterable<{ collection: string; row: Row }>): Promise<void>
  close(): void
}

export function startReplica(options: ReplicaOptions): Replica {
  const replica = new RunningReplica(options)
  void actAlone(() => replica.run())
  void actAlone(() => replica.beat())
  return replica
}

class RunningReplica implements Replica {
  readonly #options: ReplicaOptions
  readonly #patience: Patience
  readonly #copy: VaultCopy
  readonly #heads
  readonly #proposals
  readonly #contact: Contact
  readonly #trouble: Trouble
  readonly #closing = new AbortController()
  readonly #caughtUp = Promise.withResolvers<void>()
  /** Caught up, or not any time soon. */
  readonly #decided = Promise.withResolvers<void>()
  readonly #beganMs: number
  readonly #waiting = new Set<{ revision: number; resolve: () => void }>()
  #position: Position | null
  #n: number
  #isStarting = true
  #mustReadAll = false
  #refusal: Refusal | null = null
  /** Of all that is to be replaced, some was. */
  #isPartial = false
  /** Without a vote it is told nothing by the others, and changes nothing. */
  #isLearner = false
  /** Ends the watch, to begin it anew. */
  #watching = new AbortController()
  #behindSinceMs: number | null = null
  #asking: Promise<number> | null = null
  #askingNext: Promise<number> | null = null

  constructor(options: ReplicaOptions) {
    const { etcd, domainKey, random, member, position, nowMs = () => performance.now(), patience = PATIENCE } = options
    this.#options = { ...options, nowMs }
    this.#patience = patience
    this.#contact = options.contact ?? new Contact(nowMs)
    this.#trouble = new Trouble(nowMs)
    this.#beganMs = nowMs()
    this.#heads = createHeadSealer(domainKey, random)
    this.#copy = options.replicate((decide) => this.#proposals.add(decide))
    this.#proposals = createProposals({
      ...{ etcd, random, nowMs, patience, copy: this.#copy },
      sealHead: (head, id) => this.#heads.seal({ generation: this.#position!.generation, id, member, head }),
      position: () => this.#position!,
      refusal: () => this.#changeRefusal(),
      adopted: (revision) => this.#adopted(revision, this.#patience.heartbeatMsMax),
    })
    this.#position = position.read()
    this.#n = this.#copy.head().n
    this.#caughtUp.promise.catch(() => {})
    this.#decided.promise.catch(() => {})
  }

  get state(): ReplicaState {
    if (this.#refusal !== null) return 'refused'
    if (this.#isStarting) return 'starting'
    return this.#contact.isThere ? 'following' : 'isolated'
  }

  get lostMs(): number {
    return this.#contact.lostMs
  }

  get behindMs(): number {
    return Math.max(this.#contact.lostMs, this.#trouble.lastedMs)
  }

  get trouble(): string | null {
    return this.#trouble.what
  }

  get refusal(): string | null {
    return this.#refusal?.message ?? null
  }

  get conflicts(): number {
    return this.#proposals.conflicts
  }

  get n(): number {
    return this.#n
  }

  caughtUp(): Promise<void> {
    return this.#caughtUp.promise
  }

  async figures(): Promise<{ members: number; databaseBytes: number; isLeader: boolean } | null> {
    const { etcd } = this.#options
    try {
      const [{ databaseBytes, leader, memberId }, members] = await Promise.all([
        etcd.status(FIGURES_MS_MAX),
        etcd.members(FIGURES_MS_MAX),
      ])
      return { members: members.length, databaseBytes, isLeader: leader === memberId }
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      return null
    }
  }

  async usable(): Promise<void> {
    await this.#decided.promise
    const { distrust } = this.#copy
    if (distrust !== null && !this.#isRunning) throw new CofferError('storage', distrust)
    if (this.#position === null || this.#isPartial || distrust !== null || this.#refusal?.isOutdated)
      throw this.#changeRefusal() ?? notCaughtUp()
  }

  async barrier(): Promise<boolean> {
    if (this.state !== 'following' || this.#isStuck) return false
    try {
      return await this.#adopted(await this.#newest(), this.#patience.barrierMsMax)
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      return false
    }
  }

  repair(): void {
    if (!this.#copy.isDamaged) return
    this.#mustReadAll = true
    this.#watching.abort()
  }

  async replaceAll(rows: Iterable<{ collection: string; row: Row }>): Promise<void> {
    const why = this.#changeRefusal()
    if (why !== null) throw why
    const { etcd, random } = this.#options
    const replacement = await writeReplacement({ etcd, copy: this.#copy, random }, rows).catch((error) => {
      this.#removeObsolete()
      throw error
    })
    const id = Buffer.from(random(ID_BYTES)).toString('hex')
    const endMs = this.#options.nowMs!() + this.#patience.replacedMsMax
    while (this.#isRunning && this.#options.nowMs!() < endMs) {
      await this.#moveTo(replacement, id)
      const newest = await this.#newest().catch(() => 0)
      await this.#adopted(newest, endMs - this.#options.nowMs!())
      if (this.#position!.generation === replacement.generation) return this.#removeObsolete()
      await this.#pause(this.#patience.retryMs)
    }
    throw new CofferError('busy', 'It is not known whether this was done')
  }

  /** If nothing comes between. */
  async #moveTo({ generation, head, reservation }: Replacement, id: string): Promise<void> {
    const { etcd, member } = this.#options
    const { generation: former, revision } = this.#position!
    const next = { n: Math.max(this.#n, head.n) + 1, sets: head.sets }
    const value = this.#heads.seal({ generation, id, member, head: next })
    const writes = [
      { key: HEAD_KEY, value },
      { key: OBSOLETE + former, value: new Uint8Array() },
      { key: reservation.key, value: null },
    ]
    await etcd.changeIf(HEAD_KEY, revision, writes, this.#patience.resendMs, reservation).catch((error) => {
      if (!(error instanceof EtcdError)) throw error // what came of it is seen
    })
  }

  #removeObsolete(): void {
    void actAlone(() => removeObsolete(this.#options.etcd, () => this.#position!.generation))
  }

  close(): void {
    this.#closing.abort()
    this.#watching.abort()
    this.#proposals.close()
    this.#release(Number.POSITIVE_INFINITY)
    this.#caughtUp.reject(unavailable())
    this.#decided.reject(unavailable())
    this.#heads.close()
  }

  async run(): Promise<void> {
    while (this.#isRunning) {
      try {
        await this.#follow()
      } catch (error) {
        if (!this.#isRunning) return
        this.#fail(error)
      }
      await this.#pause(this.#trouble.pauseMs(this.#patience.retryMs, this.#patience.retryMsMax))
    }
  }

  /** Whether the cluster answers, and whether what it says fits what was adopted. */
  async beat(): Promise<void> {
    while (this.#isRunning) {
      try {
        const known = this.#position?.revision ?? 0
        const { entry } = await newestHead(this.#options.etcd, this.#patience.heartbeatMsMax)
        this.#contact.note(true)
        if (!this.#isStarting) expectNotOlder(entry, known)
        this.#noteStall(entry)
      } catch (error) {
        if (!this.#isRunning) return
        if (error instanceof EtcdError) this.#lose()
        else this.#fail(error)
      }
      if (this.#isRunning) this.#options.onBeat?.()
      await this.#pause(this.#patience.heartbeatMs)
    }
  }

  get #isRunning(): boolean {
    return !this.#closing.signal.aborted && this.#refusal === null
  }

  get #isStuck(): boolean {
    return this.#trouble.lastedMs > this.#patience.barrierMsMax
  }

  /** Ends by throwing. */
  async #follow(): Promise<void> {
    const { etcd } = this.#options
    const found = await newestHead(etcd)
    this.#contact.note(true)
    this.#isLearner = found.isLearner
    const entry = expectHead(found.entry)
    if (found.isLearner) return this.#copyFrom(found.revision, entry)
    const newest = this.#heads.open(entry.value)
    if (this.#needsAll(entry, newest)) await this.#readAll(found.revision, entry, newest)
    if (!this.#isRunning) return
    const from = this.#position!.revision
    if (from >= entry.revision) this.#start()
    this.#watching = new AbortController()
    for await (const revision of etcd.watch(PREFIX, from + 1, this.#watching.signal)) {
      if (!this.#isRunning) return
      this.#adopt(revision)
      if (revision.revision >= entry.revision) this.#start()
    }
  }

  /** Of a learner: what its own member has by now, which may be behind what that had before it was killed. */
  async #copyFrom(revision: number, entry: Entry): Promise<void> {
    const known = this.#position?.revision ?? 0
    if (entry.revision < known) return
    const newest = this.#heads.open(entry.value)
    const beganMs = this.#options.nowMs!()
    if (this.#needsAll(entry, newest) || entry.revision > known) await this.#readAll(revision, entry, newest)
    if (!this.#isRunning) return
    this.#trouble.end()
    this.#decided.resolve()
    await this.#pause(LEARNER_REST * (this.#options.nowMs!() - beganMs))
  }

  #start(): void {
    this.#trouble.end()
    if (this.#isStarting) this.#removeObsolete()
    this.#isStarting = false
    this.#caughtUp.resolve()
    this.#decided.resolve()
  }

  /** Throws Refusal where this node has what the cluster has not. */
  #needsAll(entry: Entry, { head, generation, id }: ClusterHead): boolean {
    const own = this.#copy.head()
    const position = this.#position
    if (head.n < own.n) throw new Refusal('it is older than what this node has')
    if (position === null) expectLeast(head, this.#options.least ?? null)
    if (position === null || position.generation !== generation) return true
    expectNotOlder(entry, position.revision)
    if (head.n === own.n && position.id !== id)
      throw new Refusal('its newest change is another than the one that this node has')
    return this.#mustReadAll || this.#copy.isDamaged
  }

  /** All records as they were when the head was read, in the place of those that are here. */
  async #readAll(revision: number, entry: Entry, newest: ClusterHead): Promise<void> {
    const { etcd, position } = this.#options
    const isWanted = () => this.#isRunning
    const comparison = this.#copy.compare(this.#position === null)
    const { generation } = newest
    if (!(await compareAll(comparison, { etcd, generation, revision, isLocal: this.#isLearner }, isWanted))) return
    const next = { generation, revision: entry.revision, id: newest.id }
    const own = this.#ownOf(newest)
    const steps = comparison.adopt({
      head: newest.head,
      generation,
      alongside: () => {
        if (own !== null) alongsideOf(own.draft)?.()
        position.put(next)
      },
      partly: () => {
        this.#isPartial = true
        position.remove()
      },
    })
    this.#mustReadAll = true // until it is done
    if (!(await refusing(() => inSlices(steps, isWanted)))) return
    this.#mustReadAll = false
    this.#isPartial = false
    this.#note(next, newest, false)
  }

  /** One change, whole or not at all. */
  #adopt({ revision, writes }: Revision): void {
    const { position } = this.#options
    const generation = this.#position!.generation
    const records = writes.flatMap(({ key, value }) => {
      const place = parseRecordKey(key)
      return place?.generation === generation ? [{ ...place, key, sealed: value, record: null }] : []
    })
    const written = writes.find(({ key }) => key === HEAD_KEY)
    if (written === undefined) {
      if (records.length > 0) throw new Refusal('records were changed without their head')
      return // of a generation that is on its way
    }
    const next = this.#heads.open(expectHead(written.value))
    if (next.head.n <= this.#n) throw new Refusal('an older change came after a newer one')
    if (next.generation !== generation) {
      this.#mustReadAll = true
      throw new EtcdError('compacted', 'The records were replaced by others')
    }
    const own = this.#ownOf(next)
    const steps = own === null ? records : ownSteps(own, records)
    const at = { generation, revision, id: next.id }
    const adopt = () =>
      this.#copy.adopt(steps, {
        head: next.head,
        alongside: () => {
          if (own !== null) alongsideOf(own.draft)?.()
          position.put(at)
        },
      })
    if (this.#copy.isDamaged) this.#orReadAll(adopt)
    else refusingNow(adopt)
    this.#note(at, next, true)
  }

  /** What does not fit may be what lies here. */
  #orReadAll(adopt: () => void): void {
    try {
      adopt()
    } catch (error) {
      this.#mustReadAll = true
      throw new EtcdError('compacted', 'What lies here is damaged', error)
    }
  }

  #note(position: Position, { id, head }: ClusterHead, isAlone: boolean): void {
    this.#trouble.end()
    this.#position = position
    this.#n = head.n
    this.#proposals.note({ id, revision: position.revision, isAlone })
    this.#release(position.revision)
  }

  #ownOf({ id }: ClusterHead): Proposal | null {
    return this.#proposals.current?.id === id ? this.#proposals.current : null
  }

  #noteStall(entry: Entry | null): void {
    const nowMs = this.#options.nowMs!()
    if (this.#isStarting || entry === null || entry.revision <= this.#position!.revision) this.#behindSinceMs = null
    else {
      this.#behindSinceMs ??= nowMs
      if (nowMs - this.#behindSinceMs < this.#patience.stalledMs) return
      this.#behindSinceMs = null
      this.#watching.abort()
    }
  }

  #lose(): void {
    this.#contact.note(false)
    this.#proposals.refuse(noQuorum())
    this.#decideLate()
  }

  /** It is not waited for any longer. */
  #decideLate(): void {
    if (this.#options.nowMs!() - this.#beganMs >= this.#patience.openingMsMax) this.#decided.resolve()
  }

  #fail(error: unknown): void {
    const code = error instanceof EtcdError ? error.code : null
    if (error instanceof Refusal) this.#refuse(error)
    else if (code === 'compacted') this.#mustReadAll = true
    else if (code !== 'unavailable') this.#retry(error)
  }

  /** It is told once, however often it is tried. What this software fails over again and again it cannot follow. */
  #retry(error: unknown): void {
    const isNew = this.#trouble.note(error)
    const what = this.#trouble.what!
    if (isNew) this.#options.onTrouble(what)
    this.#decideLate()
    if (this.#trouble.isHopeless) this.#refuse(new Refusal(`this node cannot adopt it (${what})`, error))
  }

  #refuse(refusal: Refusal): void {
    if (this.#refusal !== null) return
    this.#refusal = refusal
    this.#watching.abort()
    this.#proposals.giveUp(this.#changeRefusal()!)
    this.#release(Number.POSITIVE_INFINITY)
    this.#caughtUp.reject(refusal)
    this.#decided.resolve()
    this.#options.onRefusal(refusal)
  }

  #changeRefusal(): CofferError | null {
    if (this.#refusal !== null) return new CofferError('storage', this.#refusal.message)
    if (this.#isLearner)
      return new CofferError('busy', 'This node has no vote yet: it changes nothing before it is promoted')
    if (this.#isStuck) return this.#trouble.refusal
    if (this.#isStarting || this.#isPartial) return notCaughtUp()
    return this.#contact.isThere ? null : noQuorum()
  }

  /** The revision of the newest head. Calls that come while one asks share the next. */
  #newest(): Promise<number> {
    if (this.#asking === null) {
      this.#asking = this.#ask().finally(() => {
        this.#asking = null
      })
      return this.#asking
    }
    this.#askingNext ??= this.#asking.then(
      () => this.#askAgain(),
      () => this.#askAgain(),
    )
    return this.#askingNext
  }

  #askAgain(): Promise<number> {
    this.#askingNext = null
    return this.#newest()
  }

  async #ask(): Promise<number> {
    const { entry } = await this.#options.etcd.get(HEAD_KEY, { timeoutMs: this.#patience.barrierMsMax })
    return entry?.revision ?? 0
  }

  /** False when it took too long, or nothing is followed any more. */
  async #adopted(revision: number, timeoutMs: number): Promise<boolean> {
    if (this.#isRunning && revision > this.#position!.revision) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const waiter = { revision, resolve }
      this.#waiting.add(waiter)
      const timer = setTimeout(resolve, timeoutMs)
      await promise
      clearTimeout(timer)
      this.#waiting.delete(waiter)
    }
    return this.#isRunning && revision <= this.#position!.revision
  }

  #release(revision: number): void {
    for (const waiter of this.#waiting) if (waiter.revision <= revision) waiter.resolve()
  }

  #pause(ms: number): Promise<void> {
    return wait(ms, undefined, { signal: this.#closing.signal }).catch(() => {})
  }
}

const notCaughtUp = (): CofferError =>
  new CofferError('busy', 'This node has not got yet what the others have, try again')

function expectLeast(head: Head, least: Head | null): void {
  if (least === null || head.n > least.n) return
  if (head.n < least.n) throw new Refusal('it is older than it was when this node was registered')
  if (!areSameSets(head.sets, least.sets))
    throw new Refusal('its records are not those that it had when this node was registered')
}

function expectHead<T>(head: T | null): T {
  if (head === null) throw new Refusal('its head is missing')
  return head
}

/** An etcd whose disks were put back would be watched in silence, until it comes to the revisions that it had. */
function expectNotOlder(entry: Entry | null, revision: number): void {
  if (expectHead(entry).revision < revision) throw new Refusal('it is older than what this node has')
}

/** What this node has decided on is adopted as it was decided. What came must be that; to remove what is missing is no change. */
function ownSteps({ writes, draft }: Proposal, records: readonly (Step & { key: string })[]): readonly Step[] {
  const came = new Map(records.map(({ key, sealed }) => [key, sealed]))
  const isSame = ({ key, value }: Write): boolean => {
    const sealed = came.get(key) ?? null
    came.delete(key)
    return value === null ? sealed === null : sealed !== null && equalBytes(value, sealed)
  }
  if (!writes.every(isSame) || came.size > 0) throw new Refusal('a change of this node came with other records')
  return draft.steps
}

/** Throws Refusal for what the store does not take; what its disk does not is tried again. */
function refusingNow(adopt: () => void): void {
  try {
    adopt()
  } catch (error) {
    throw refusalOf(error)
  }
}
