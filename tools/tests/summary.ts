/** The end of a test run: skipped tests and how to run them, failures, and the sums. */

import type { TestResult } from './group.ts'

const FAILURES_SHOWN = 30
const INSTALLS = /sudo apt install ([a-z0-9.+ -]+)/g

export function summary(results: readonly TestResult[]): string[] {
  const sum = (of: (result: TestResult) => number) => results.reduce((total, result) => total + of(result), 0)
  const failures = results.flatMap(({ file, failures }) => failures.map((failure) => `failed: ${file}: ${failure}`))
  const more = failures.length - FAILURES_SHOWN
  return [
    ...skips(results),
    ...failures.slice(0, FAILURES_SHOWN),
    ...(more > 0 ? [`and ${more} failures more, above`] : []),
    `${results.length} files: ${sum(({ passed }) => passed)} passed, ${sum(({ failed }) => failed)} failed, ` +
      `${sum(({ skipped }) => skipped.length)} skipped, ${sum(({ todo }) => todo)} to do`,
  ]
}

/** By reason, with the one line that installs what is a package of Debian. */
function skips(results: readonly TestResult[]): string[] {
  const byReason = new Map<string, Map<string, number>>()
  const packages = new Set<string>()
  for (const { file, skipped } of results)
    for (const { reason } of skipped) {
      const files = byReason.get(reason) ?? new Map<string, number>()
      byReason.set(reason, files.set(file, (files.get(file) ?? 0) + 1))
      for (const [, names = ''] of reason.matchAll(INSTALLS))
        for (const name of names.trim().split(' ')) packages.add(name)
    }
  if (byReason.size === 0) return []
  const lines = ['Skipped:']
  for (const [reason, files] of [...byReason].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const count = [...files.values()].reduce((total, n) => total + n, 0)
    lines.push(`  ${count} ${count === 1 ? 'test' : 'tests'}, ${reason || 'without a reason'}`)
    for (const file of files.keys()) lines.push(`      ${file}`)
  }
  if (packages.size > 0) lines.push(`To run most of these: sudo apt install ${[...packages].sort().join(' ')}`)
  return lines
}
