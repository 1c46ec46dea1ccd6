/** Jobs that wait for a thread: turns go round between users, and in a full queue those with most jobs make room for others. */

import { defined } from '../../base/defined.ts'
import type { Job } from './worker-thread.ts'

interface WaitingJobs {
  readonly size: number
  add(job: Job): void
  /** Takes the oldest job of the user whose last turn is longest ago. */
  next(): Job | undefined
  /**
   * Takes the newest jobs of the user who has most waiting, so that one more job and so many bytes have room. Returns null and takes
   * none if no other user waits with more than `user` then would. Jobs of no user stay: nobody would ask for them again.
   */
  makeRoom(user: string, missing: Room, bytes: number): readonly Job[] | null
  remove(selects: (job: Job) => boolean): readonly Job[]
}

interface Room {
  jobs: number
  bytes: number
}

const bytesOf = (jobs: readonly Job[]): number => jobs.reduce((sum, job) => sum + job.bytes, 0)

export function createWaitingJobs(): WaitingJobs {
  /** By user, the next turn first. */
  const users = new Map<string, Job[]>()
  let size = 0

  const jobsOf = (user: string): readonly Job[] => users.get(user) ?? []

  function remove(selects: (job: Job) => boolean): readonly Job[] {
    const removed: Job[] = []
    for (const [user, jobs] of users) {
      const kept = jobs.filter((job) => !selects(job))
      if (kept.length === jobs.length) continue
      removed.push(...jobs.filter(selects))
      if (kept.length === 0) users.delete(user)
      else users.set(user, kept)
    }
    size -= removed.length
    return removed
  }

  function largest(sizeOf: (jobs: readonly Job[]) => number): readonly Job[] {
    let most: readonly Job[] = []
    for (const [user, jobs] of users) if (user !== '' && sizeOf(jobs) > sizeOf(most)) most = jobs
    return most
  }

  /** The newest jobs of the user with the most, or null if they are not enough. `size`: what `user` would have then. */
  function newest(missing: number, size: number, sizeOf: (jobs: readonly Job[]) => number): readonly Job[] | null {
    if (missing === 0) return []
    const taken: Job[] = []
    const jobs = largest(sizeOf)
    let left = sizeOf(jobs)
    for (const job of jobs.toReversed()) {
      if (sizeOf(taken) >= missing || left <= size) break
      const own = sizeOf([job])
      left -= own
      if (own > 0) taken.push(job)
    }
    return sizeOf(taken) >= missing ? taken : null
  }

  return {
    get size() {
      return size
    },
    add(job) {
      size++
      const jobs = users.get(job.user)
      if (jobs === undefined) users.set(job.user, [job])
      else jobs.push(job)
    },
    next() {
      for (const [user, jobs] of users) {
        users.delete(user)
        const job = defined(jobs.shift())
        size--
        if (jobs.length > 0) users.set(user, jobs)
        return job
      }
      return undefined
    },
    makeRoom(user, missing, bytes) {
      const own = jobsOf(user)
      const forJobs = newest(missing.jobs, own.length + 1, (jobs) => jobs.length)
      const forBytes = newest(missing.bytes, bytesOf(own) + bytes, bytesOf)
      if (forJobs === null || forBytes === null) return null
      const taken = new Set([...forJobs, ...forBytes])
      return taken.size === 0 ? [] : remove((job) => taken.has(job))
    },
    remove,
  }
}
