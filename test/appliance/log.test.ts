import assert from 'node:assert/strict'
import test from 'node:test'
import { createLog, type LogEntry } from '../../firmware/base/log.ts'

function createRecordingLog(level: Parameters<typeof createLog>[0]) {
  const entries: LogEntry[] = []
  return { entries, log: createLog(level, (entry) => entries.push(entry)) }
}

test('entries are numbered from 1 in the order they are written', () => {
  const { entries, log } = createRecordingLog('debug')
  log.info('keys', 'created')
  log.error('general', 'broken')
  assert.deepEqual(entries, [
    { level: 'info', source: 'keys', message: '[1] created' },
    { level: 'error', source: 'general', message: '[2] broken' },
  ])
})

test('each level lets through itself and what is more severe', () => {
  const levels = ['debug', 'info', 'warning', 'error'] as const
  levels.forEach((threshold, index) => {
    const { entries, log } = createRecordingLog(threshold)
    for (const level of levels) log[level]('users', level)
    assert.deepEqual(
      entries.map(({ level }) => level),
      levels.slice(index),
    )
  })
})

test('a new level applies at once; what is not written has no number', () => {
  const { entries, log } = createRecordingLog('error')
  log.info('users', 'unseen')
  log.setLevel('info')
  log.info('users', 'seen')
  log.setLevel('warning')
  log.info('users', 'unseen')
  assert.deepEqual(
    entries.map(({ message }) => message),
    ['[1] seen'],
  )
})

test('warnings and errors are counted even when the level keeps them out', () => {
  const { log } = createRecordingLog('error')
  log.warning('users', 'one')
  log.error('users', 'two')
  log.error('users', 'three')
  assert.equal(log.counts.warning, 1)
  assert.equal(log.counts.error, 2)
  assert.equal(log.counts.info, 0)
})

test('control characters cannot forge an entry', () => {
  const { entries, log } = createRecordingLog('info')
  log.info('users', 'a\nb\r\t\0\u001b[31m\u007f\u0085\u2028\u2029z ü𝄞')
  assert.equal(entries[0]!.message, '[1] a\\u000ab\\u000d\\u0009\\u0000\\u001b[31m\\u007f\\u0085\\u2028\\u2029z ü𝄞')
})
